import {
  concurrency,
  createLimiter,
  definePlans,
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type Policy,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { planResolver } from '@sluice/core/plans'
import { reserve } from '@sluice/core/reservations'
import { afterEach, beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest'

const ACME = { tenant: 'acme' }
const rpm = { name: 'rpm', limit: 60, window: '1m', per: ['tenant'] } as const
const limiterOf = (store: Store, ...policies: Policy[]) => createLimiter({ store, policies })

let warn: MockInstance<typeof console.warn>
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
})
afterEach(() => vi.restoreAllMocks())
const warnings = (): string[] => warn.mock.calls.map(([line]) => String(line))

describe('two limiters with one policy name on one store', () => {
  it('are silent if the policy is the same, as in a proxy and a handler', () => {
    const store = memory()
    limiterOf(store, slidingWindow(rpm))
    limiterOf(store, slidingWindow(rpm))
    limiterOf(store, slidingWindow({ ...rpm, limit: ({ plan }) => plan['rpm'] ?? 1 }))
    expect(warnings()).toEqual([])
  })

  it.each<[string, Policy, Policy]>([
    ['limit', slidingWindow(rpm), slidingWindow({ ...rpm, limit: 10 })],
    ['limit, unlimited', fixedWindow(rpm), fixedWindow({ ...rpm, limit: 'unlimited' })],
    ['burst', tokenBucket({ ...rpm, burst: 100 }), tokenBucket({ ...rpm, burst: 90 })],
    ['unit', fixedWindow(rpm), fixedWindow({ ...rpm, unit: 'token' })],
  ])('are reported once if they share counts and differ in their %s', (_, first, second) => {
    const store = memory()
    for (const policy of [first, second, first, second]) limiterOf(store, policy)
    expect(warnings()).toEqual([expect.stringContaining('policies.rpm: two limiters count it')])
  })

  it.each<[string, Policy]>([
    ['window', slidingWindow({ ...rpm, window: '1h' })],
    ['algorithm', fixedWindow({ ...rpm, limit: 10 })],
    ['partition', slidingWindow({ ...rpm, limit: 10, per: ['user'] })],
  ])('count apart with another %s, and are silent', async (_, other) => {
    const store = memory()
    const limiter = limiterOf(store, slidingWindow(rpm))
    await limiterOf(store, other).check({ ...ACME, user: 'acme' })
    expect(await limiter.peek(ACME)).toMatchObject({
      policies: [{ remaining: 60 }],
    })
    expect(warnings()).toEqual([])
  })

  it('are silent on two stores', () => {
    limiterOf(memory(), slidingWindow(rpm))
    limiterOf(memory(), slidingWindow({ ...rpm, limit: 10 }))
    expect(warnings()).toEqual([])
  })
})

describe('a slot of concurrency', () => {
  const policy = concurrency({ name: 'in-flight', limit: 9, per: ['tenant'] })

  it('that check takes is reported, once', async () => {
    const limiter = limiterOf(memory(), policy)
    await limiter.check(ACME)
    await limiter.check(ACME, { cost: { call: 1 } })
    expect(warnings()).toEqual([expect.stringContaining('check takes a slot')])
  })

  it('that is reserved, looked at or not asked for is not reported', async () => {
    const limiter = limiterOf(memory(), policy)
    await reserve(limiter, ACME)
    await limiter.peek(ACME)
    await limiter.check(ACME, { cost: { call: 0 } })
    await limiterOf(memory(), slidingWindow(rpm)).check(ACME)
    expect(warnings()).toEqual([])
  })
})

describe('a subject without a plan', () => {
  const limits = { starter: { rpm: 1 }, growth: { rpm: 2 } }
  const policies = [slidingWindow({ ...rpm, limit: ({ plan }) => plan['rpm'] ?? 0 })]

  it('is reported once, as the first plan applies only because it is the first', async () => {
    const limiter = createLimiter({ store: memory(), plans: definePlans(limits), policies })
    await limiter.check(ACME)
    await limiter.check(ACME)
    expect(warnings()).toEqual([expect.stringContaining('without plan gets "starter"')])
  })

  it('is not reported with a default plan, one plan only, or a plan resolver', async () => {
    for (const [plans, extensions] of [
      [definePlans(limits, { defaultPlan: 'starter' }), []],
      [definePlans({ starter: limits.starter }), []],
      [definePlans(limits), [planResolver(() => 'starter')]],
    ] as const) {
      await createLimiter({ store: memory(), plans, policies, extensions }).check(ACME)
    }
    const limiter = createLimiter({ store: memory(), plans: definePlans(limits), policies })
    await limiter.check({ ...ACME, plan: 'growth' })
    expect(warnings()).toEqual([])
  })
})

it('the 1,000th store in memory of a process is reported, once', () => {
  for (let made = 0; made < 3_000; made += 1) memory()
  expect(warnings()).toEqual([expect.stringContaining('memory() was called 1000 times')])
})

it('decisions warn, read and allocate nothing after the first', async () => {
  const has = vi.spyOn(WeakSet.prototype, 'has')
  const store = memory()
  const limiter = limiterOf(store, slidingWindow(rpm))
  for (let call = 0; call < 50; call += 1) await limiter.check(ACME)
  expect(has).not.toHaveBeenCalled()
  expect(warnings()).toEqual([])
})
