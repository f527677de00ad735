import {
  concurrency,
  createLimiter,
  dailyCap,
  definePlans,
  slidingWindow,
  StoreError,
  type Store,
} from '@sluice/core'
import { explain, explanationText } from '@sluice/core/explain'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'

const rpm = (limit = 60) => slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })
const down = (): Promise<never> => Promise.reject(new StoreError('store_unreachable', 'down'))

describe('an explanation', () => {
  it('of a request that is allowed says how full each policy is', async () => {
    const { limiter } = setUp([rpm()])
    const explanation = await explain(limiter, ACME)
    expect(explanation).toMatchObject({
      decision: { allowed: true, policies: [{ name: 'rpm', remaining: 60 }] },
      denials: [],
      fittingCost: undefined,
    })
    expect(explanationText(explanation)).toBe('Allowed.\n  rpm: 0 of 60 requests used')
  })

  it('names the policies that lack a dimension of the subject, and those in shadow', async () => {
    const next = slidingWindow({
      name: 'next',
      limit: 1,
      window: '1m',
      per: ['tenant'],
      mode: 'shadow',
    })
    const perUser = slidingWindow({
      name: 'user',
      limit: 5,
      window: '1m',
      per: ['user'],
      onMissing: 'skip',
    })
    const { limiter } = setUp([rpm(), next, perUser])
    await limiter.check(ACME)
    expect(explanationText(await explain(limiter, ACME)).split('\n')).toEqual([
      'Allowed.',
      '  rpm: 1 of 60 requests used',
      '  next: 1 of 1 request used, in shadow',
      '  user: takes no part, because the subject lacks a dimension of its per',
    ])
  })

  it('of two policies that deny names both, and what each needs', async () => {
    const daily = dailyCap({ name: 'daily', limit: 2, per: ['tenant'] })
    const { limiter } = setUp([rpm(2), daily])
    await limiter.check(ACME, { cost: 2 })
    const explanation = await explain(limiter, ACME)
    expect(explanationText(explanation).split('\n')).toEqual([
      'Denied by rpm: 2 of 2 requests used, and it asks for 1.',
      'Denied by daily: 2 of 2 requests used, and it asks for 1.',
      expect.stringMatching(/^  It fits in 12h if/),
      '  It fits now with a limit of 3 for rpm and a limit of 3 for daily.',
    ])
  })

  it('of a cost that never fits says so', async () => {
    const { limiter } = setUp([rpm(2)])
    const explanation = await explain(limiter, ACME, { cost: 5 })
    expect(explanation.denials).toMatchObject([{ retryAfterMs: null, raise: { to: 5 } }])
    expect(explanation.fittingCost).toEqual({ request: 2 })
    expect(explanationText(explanation)).toContain(
      'It never fits: it asks for more than the limit.',
    )
  })

  it('of dollars shows dollars', async () => {
    const budget = dailyCap({ name: 'budget', limit: 2_000_000, unit: 'usd', per: ['tenant'] })
    const { limiter } = setUp([budget])
    await limiter.check(ACME, { cost: { usd: 1_500_000 } })
    const text = explanationText(await explain(limiter, ACME, { cost: { usd: 750_000 } }))
    expect(text).toContain('Denied by budget: $1.50 of $2.00 used, and it asks for $0.75.')
    expect(text).toContain('with $0.25 less')
    expect(text).toContain('a limit of $2.25 for budget')
  })

  it('of calls in flight does not guess when one ends', async () => {
    const { limiter } = setUp([concurrency({ name: 'calls', limit: 1, per: ['tenant'] })])
    await limiter.check(ACME, { cost: { call: 1 } })
    const text = explanationText(await explain(limiter, ACME, { cost: { call: 1 } }))
    expect(text).toContain('It fits when a call in flight has ended.')
    expect(text).not.toContain('It fits in')
  })

  it('finds no limit for stripes, and leaves shadows out', async () => {
    const striped = slidingWindow({
      name: 'all',
      limit: 4,
      window: '1m',
      per: 'global',
      stripes: 2,
    })
    const shadow = slidingWindow({
      name: 'next',
      limit: 0,
      window: '1m',
      per: 'global',
      mode: 'shadow',
    })
    const { limiter } = setUp([striped, shadow])
    expect((await explain(limiter, ACME, { cost: 4 })).denials).toMatchObject([
      { policy: 'all', raise: undefined },
    ])
  })

  it('uses the plan of the subject', async () => {
    const limiter = createLimiter({
      store: memory(),
      plans: definePlans({ free: { rpm: 1 }, pro: { rpm: 5 } }),
      policies: [
        slidingWindow({
          name: 'rpm',
          limit: ({ plan }) => plan.rpm,
          window: '1m',
          per: ['tenant'],
        }),
      ],
    })
    const cost = 2
    expect((await explain(limiter, { ...ACME, plan: 'pro' }, { cost })).denials).toEqual([])
    expect((await explain(limiter, { ...ACME, plan: 'free' }, { cost })).denials).toHaveLength(1)
  })

  it('without the store says that it failed', async () => {
    const store: Store = { check: down, run: down, reset: down }
    const { listener } = collectProblems()
    const { limiter } = setUp([rpm()], { store, onStoreError: 'deny', extensions: [listener] })
    const explanation = await explain(limiter, ACME)
    expect(explanation.denials).toEqual([])
    expect(explanationText(explanation)).toBe(
      'Denied without the store, which failed (store_unreachable). See onStoreError.',
    )
  })

  it('refuses what is not an option', async () => {
    const { limiter } = setUp([rpm()])
    await expect(explain(limiter, ACME, { costs: 1 } as never)).rejects.toThrow('"cost"')
  })
})
