import { denialId, readDenial, recordDenials } from '@sluice/usage/denials'
import { fixedWindow } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { subject } from '../core/http/support.ts'
import { setUp } from '../support/limiters.ts'
import { createApp, type Serve } from './support.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

/** The cases of a denial that is answered with its id, for adapters that have the option `onDenied`. */
export function denialIdCases(serve: Serve): void {
  describe('the id of a denial', () => {
    it.each([
      ['its request has one', { 'x-request-id': 'req_7' }, /^req_7$/],
      ['its request has none', {}, UUID],
    ])('is in the answer, and leads to the decision, if %s', async (_, ids, expected) => {
      const policy = fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })
      // Soon, because h3 ends only after what it keeps running.
      const { limiter } = setUp([policy], { extensions: [recordDenials({ flushEvery: '1ms' })] })
      const served = await serve(createApp(limiter, { options: { subject, onDenied: denialId() } }))
      try {
        const send = () =>
          fetch(`${served.url}/api/ai/chat`, {
            method: 'POST',
            headers: { 'x-tenant': 'acme', ...ids },
          })
        await (await send()).text()
        const denied = await send()
        const id = denied.headers.get('x-request-id') ?? ''
        expect([denied.status, id]).toEqual([429, expect.stringMatching(expected)])
        // That of the policy, though the answer is not the usual one.
        expect(denied.headers.get('retry-after')).toBe('30')
        expect(await denied.json()).toMatchObject({ policy: 'rpm' })
        await expect
          .poll(() => readDenial(limiter, 'acme', id))
          .toMatchObject({
            reason: 'rate_limit_exceeded',
            policies: [{ name: 'rpm', remaining: 0 }],
          })
      } finally {
        await served.close()
      }
    })
  })
}
