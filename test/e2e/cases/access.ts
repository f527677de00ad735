import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { SPELLINGS } from '../../support/spellings.ts'
import { ask, burst } from '../support/target.ts'
import { signed, unsigned } from '../support/tokens.ts'
import { limitHeaders, type Case } from './case.ts'

/** Other ways to write the path of a route, as an HTTP client can send them. */
const PATHS = [
  ...SPELLINGS.map(({ write }) => write('/api/ai/evaluate')).filter((path) => path.startsWith('/')),
  '/_next/data/build/api/ai/evaluate.json',
]

export const access: readonly Case[] = [
  {
    claim: 'answers 401 without a valid token, and charges nobody',
    async check(target) {
      const who = { tenant: 'e2e-nobody', plan: 'starter' }
      const wrong: Record<string, string | undefined> = {
        'no header': undefined,
        'another scheme': `Basic ${await signed(who)}`,
        'no token': 'Bearer ',
        'no JWT': 'Bearer e2e-nobody',
        'no signature': `Bearer ${unsigned(who)}`,
        'a cut signature': `Bearer ${(await signed(who)).slice(0, -2)}`,
        'another secret': `Bearer ${await signed({ ...who, secret: 'x'.repeat(40) })}`,
        'another issuer': `Bearer ${await signed({ ...who, issuer: 'someone' })}`,
        'another audience': `Bearer ${await signed({ ...who, audience: 'something' })}`,
        expired: `Bearer ${await signed({ ...who, expires: '-1s' })}`,
        'no expiry': `Bearer ${await signed({ ...who, expires: null })}`,
        'no tenant': `Bearer ${await signed({ plan: 'starter' })}`,
        'an empty tenant': `Bearer ${await signed({ ...who, tenant: '' })}`,
        'a tenant that is no text': `Bearer ${await signed({ ...who, tenant: 7 })}`,
        'no plan': `Bearer ${await signed({ tenant: 'e2e-nobody' })}`,
      }
      const before = [target.store.requests, target.upstream.requests.length]
      for (const [what, authorization] of Object.entries(wrong)) {
        const answer = await ask(target, '/api/ai/evaluate', authorization)
        expect(answer.status, `with ${what}`).toBe(401)
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
        expect(limitHeaders(answer)).toEqual({})
        expect(await answer.json()).toEqual({
          error: 'unauthenticated',
          message: 'This route needs credentials.',
        })
      }
      expect([target.store.requests, target.upstream.requests.length]).toEqual(before)
    },
  },
  {
    claim: 'refuses a tenant id that cannot be counted with 400, not 500',
    async check(target) {
      const token = await signed({ tenant: '\ud800', plan: 'starter' })
      const answer = await ask(target, '/api/ai/evaluate', `Bearer ${token}`)
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ error: 'invalid_subject' })
    },
  },
  {
    claim: 'lets no other spelling of a path past the limit',
    async check(target) {
      const token = await signed({ tenant: `e2e-${randomUUID()}`, plan: 'starter' })
      await burst(20, () => ask(target, '/api/ai/evaluate', `Bearer ${token}`))
      const asked = target.upstream.requests.length
      for (const path of PATHS) {
        for (const authorization of [undefined, `Bearer ${token}`]) {
          const { status } = await ask(target, path, authorization)
          expect([308, 400, 401, 404, 429], `${path} answered ${status}`).toContain(status)
        }
      }
      expect(target.upstream.requests.length).toBe(asked)
    },
  },
  {
    claim: 'does not touch other routes',
    async check(target) {
      const before = target.store.requests
      for (const path of ['/', '/api/ai', '/api/ai/unknown', '/api/other']) {
        const answer = await fetch(target.url + path)
        expect(limitHeaders(answer), `on ${path}`).toEqual({})
        expect([200, 404], `on ${path}`).toContain(answer.status)
      }
      expect(target.store.requests).toBe(before)
    },
  },
]
