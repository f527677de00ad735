import { createLimiter, slidingWindow, type Policy, type StoreReply } from '@sluice/core'
import { describe, expect, it } from 'vitest'

const policies = [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })]

const done = () => Promise.resolve(true)
const NO_RECORDS = { settle: done, write: done, reset: () => Promise.resolve() }

describe('a store of your own that answers wrongly', () => {
  it.each<[string, unknown, string]>([
    ['no verdicts', { now: 0, verdicts: [], places: [], read: [] }, 'store_bad_reply'],
    ['no places', { now: 0, verdicts: [{ fits: true }], read: [] }, 'store_bad_reply'],
    ['an empty verdict', { now: 0, verdicts: [null], places: [0], read: [] }, 'store_bad_reply'],
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
  it('does not change with the list that it was made of', () => {
    const per = ['tenant']
    const policy = slidingWindow({ name: 'rpm', limit: 1, window: '1m', per })
    per.push('user')
    expect(policy.per).toEqual(['tenant'])
    expect(Object.isFrozen(policy.per)).toBe(true)
  })

  it('that was copied with other numbers is refused', () => {
    const store = { check: () => expect.unreachable(), ...NO_RECORDS }
    const [policy] = policies as [Policy]
    const forged = { ...policy, params: [Number.NaN] }
    expect(() => createLimiter({ store, policies: [forged] })).toThrow(/policies/)
  })
})
