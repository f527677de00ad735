import {
  createLimiter,
  slidingWindow,
  type PolicyRule,
  type Store,
  type StoreReply,
} from '@sluice/core'
import { describe, expect, it } from 'vitest'

const policies = [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })]

const NO_RECORDS: Omit<Store, 'check'> = {
  run: () => expect.unreachable(),
  reset: () => Promise.resolve(),
}

describe('a custom store with an invalid reply', () => {
  it.each<[string, unknown, string]>([
    ['no verdicts', { source: 'store', now: 0, verdicts: [], values: [] }, 'store_bad_reply'],
    [
      'an empty verdict',
      { source: 'store', now: 0, verdicts: [null], values: [] },
      'store_bad_reply',
    ],
    ['nothing', undefined, 'store_failed'],
    ['an error of its own', new Error('disk full'), 'store_failed'],
  ])('with %s degrades the decision, and never throws', async (_, reply, cause) => {
    const check = () =>
      reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply as StoreReply)
    const store = { check, ...NO_RECORDS }
    const limiter = createLimiter({ store, policies })
    const decisions = [await limiter.check({ tenant: 'a' }), await limiter.check({ tenant: 'a' })]
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false])
    expect(decisions[0]?.degraded).toEqual({ cause, mode: 'local' })
  })
})

describe('a policy', () => {
  it('does not change when the list changes that it was made of', () => {
    const per = ['tenant']
    const [rule] = slidingWindow({ name: 'rpm', limit: 1, window: '1m', per })()
    per.push('user')
    expect(rule?.per).toEqual(['tenant'])
    expect(Object.isFrozen(rule?.per)).toBe(true)
  })

  it('is refused if it was copied with other numbers', () => {
    const store = { check: () => expect.unreachable(), ...NO_RECORDS }
    const [rule] = policies.flatMap((policy) => policy()) as [PolicyRule]
    for (const number of [Number.NaN, Infinity, -1, 0.5, '60000']) {
      const forged = () => [{ ...rule, params: [number as number] }]
      expect(() => createLimiter({ store, policies: [forged] })).toThrow(/policies/)
    }
  })
})
