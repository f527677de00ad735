/* A balance whose plan, settings, mode or partition changes while it is used. */
import { createLimiter, definePlans, manualClock, rollout, type Policy } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { adjust, balance, credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { lawfulBalance } from '../../support/balance-law.ts'
import { ACME } from '../../support/limiters.ts'
import { DAY, HOUR, NOON } from '../../support/times.ts'

const UNIT = 'credit'
const OPTIONS = { name: 'credits', per: ['tenant'], unit: UNIT, unsettled: 'keep' } as const
const resets = calendar({ every: 'month' })

function setUp(policy: Policy, options: object = {}) {
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store: memory(),
    clock,
    onStoreError: 'deny',
    policies: [policy],
    ...options,
  })
  const spend = async (units: number, subject: object = ACME) =>
    (await limiter.check(subject, { cost: { [UNIT]: units } })).allowed
  const pay = (amount: number) =>
    grant(limiter, ACME, { amount, id: `g${amount}`, at: clock(), kind: 'paid' })
  return { limiter, clock, spend, pay }
}

const plans = definePlans({
  free: { units: 10 },
  team: { units: 100 },
  house: { units: 'unlimited' },
})

const byPlan = () =>
  credits({ ...OPTIONS, included: { amount: ({ plan }) => plan['units'] as number, resets } })
const on = (plan: string) => ({ ...ACME, plan })

const left = async (limiter: Parameters<typeof balance>[0], plan: string) =>
  (await balance(limiter, on(plan))).available

describe('an allowance of the plan', () => {
  it('grows at once with a larger plan, by the difference, and shrinks with the next period', async () => {
    const { limiter, clock, spend } = setUp(byPlan(), { plans })
    expect(await spend(4, on('free'))).toBe(true)
    expect(await left(limiter, 'free')).toBe(6)
    expect(await left(limiter, 'team')).toBe(96)
    expect(await spend(90, on('team'))).toBe(true)
    // Back and forth brings no more.
    expect([await left(limiter, 'free'), await left(limiter, 'team')]).toEqual([6, 6])
    expect(await spend(6, on('free'))).toBe(true)
    expect(await left(limiter, 'team')).toBe(0)
    await lawfulBalance(limiter)
    clock.advance(31 * DAY)
    expect(await left(limiter, 'free')).toBe(10)
    expect(await spend(11, on('free'))).toBe(false)
    expect(await spend(11, on('team'))).toBe(true)
    expect(await left(limiter, 'team')).toBe(89)
  })

  it('that has no end leaves the balance alone', async () => {
    const { limiter, spend, pay } = setUp(byPlan(), { plans })
    await pay(50)
    expect(await spend(1_000_000, on('house'))).toBe(true)
    expect(await left(limiter, 'house')).toBe(50)
    expect(await left(limiter, 'free')).toBe(60)
  })
})

const configured = () =>
  setUp(credits({ ...OPTIONS, included: { amount: 10, resets } }), {
    extensions: [runtimeConfiguration({ allow: { credits: ['limit', 'zone', 'anchor'] } })],
  })

describe('a balance with settings', () => {
  it('includes what is configured for a tenant, from the next decision on', async () => {
    const { limiter, clock, spend } = configured()
    expect(await spend(10)).toBe(true)
    await configure(limiter, { credits: { limit: 25 } }, ACME)
    expect(await spend(15)).toBe(true)
    expect(await spend(1)).toBe(false)
    await configure(limiter, { credits: { limit: 3 } }, ACME)
    expect(await spend(1)).toBe(false)
    clock.advance(31 * DAY)
    expect(await lawfulBalance(limiter)).toMatchObject({ available: 3 })
    expect((await balance(limiter, { tenant: 'other' })).available).toBe(10)
    await configure(limiter, { credits: null }, ACME)
    expect(await lawfulBalance(limiter)).toMatchObject({ available: 10 })
  })

  it('is renewed in the zone and on the day of the tenant', async () => {
    const { limiter, clock, spend } = configured()
    const settings = { zone: 'Asia/Tokyo', anchor: '2026-01-20T06' }
    await configure(limiter, { credits: settings }, ACME)
    expect(await spend(10)).toBe(true)
    const end = Date.UTC(2026, 0, 19, 21)
    expect((await balance(limiter, ACME)).renewsAt).toBe(end)
    clock.advance(end - 1 - clock())
    expect(await spend(1)).toBe(false)
    clock.advance(1)
    expect(await spend(1)).toBe(true)
    expect(await lawfulBalance(limiter)).toMatchObject({
      available: 9,
      renewsAt: Date.UTC(2026, 1, 19, 21),
    })
  })

  it('keeps the running period when its day is changed', async () => {
    const { limiter, clock, spend, pay } = configured()
    await pay(5)
    expect(await spend(12)).toBe(true)
    const { renewsAt = 0 } = await balance(limiter, ACME)
    await configure(limiter, { credits: { anchor: '2026-01-20T06' } }, ACME)
    clock.advance(Date.UTC(2026, 0, 21) - clock())
    const changed = await lawfulBalance(limiter)
    expect(changed.available).toBe(3)
    expect(changed.renewsAt).toBe(renewsAt)
    clock.advance(renewsAt - clock())
    // Nineteen days would be too short for a month.
    expect(await lawfulBalance(limiter)).toMatchObject({
      available: 13,
      renewsAt: Date.UTC(2026, 2, 20, 6),
    })
  })

  it('refuses settings that a balance does not have', async () => {
    const { limiter } = configured()
    for (const settings of [{ limit: -1 }, { burst: 5 }, { zone: 'Mars/Olympus' }]) {
      await expect(configure(limiter, { credits: settings }, ACME)).rejects.toThrow(/credits/)
    }
    expect(() =>
      setUp(credits(OPTIONS), {
        extensions: [runtimeConfiguration({ allow: { credits: ['zone'] } })],
      }),
    ).toThrow(/zone/)
  })
})

describe('a balance in shadow', () => {
  it.each<[string, Policy]>([
    ['mode', credits({ ...OPTIONS, mode: 'shadow' })],
    ['a rollout', credits({ ...OPTIONS, rollout: rollout({ enforced: 0 }) })],
  ])(
    'by its %s denies nothing, is spent while it lasts, and never falls below 0',
    async (_, policy) => {
      const { limiter, pay, spend } = setUp(policy)
      await pay(10)
      expect([await spend(7), await spend(7), await spend(2)]).toEqual([true, true, true])
      expect(await lawfulBalance(limiter)).toMatchObject({ available: 1, debt: 0 })
      const call = await reserve(limiter, ACME, { cost: { [UNIT]: 5 } })
      expect(call).toMatchObject({ allowed: true, policies: [{ fits: false, charged: false }] })
      if (call.allowed) await call.settle({ [UNIT]: 3 })
      expect(await lawfulBalance(limiter)).toMatchObject({ available: 1, debt: 0, held: 0 })
    },
  )

  it('is counted for the tenants of a rollout alone', async () => {
    const { limiter, spend } = setUp(credits({ ...OPTIONS, rollout: rollout({ enabled: 0 }) }))
    expect(await spend(1_000)).toBe(true)
    expect(await lawfulBalance(limiter)).toMatchObject({ available: 0, totals: { settled: 0 } })
  })
})

describe('a request without the dimension of a balance', () => {
  it('is refused, or passes if the policy says so', async () => {
    const strict = setUp(credits(OPTIONS))
    await expect(strict.spend(1, {})).rejects.toThrow(/tenant/)
    const lax = setUp(credits({ ...OPTIONS, onMissing: 'skip' }))
    expect(await lax.spend(1, {})).toBe(true)
    expect(await lax.spend(1)).toBe(false)
  })
})

describe('rows of usage', () => {
  it('add up to what a balance has settled', async () => {
    const { limiter, clock, pay, spend } = setUp(credits(OPTIONS), {
      extensions: [recordUsage({ tenants: 'plain' })],
    })
    await pay(1_000)
    const calls = []
    for (const units of [100, 200, 300]) {
      calls.push(await reserve(limiter, ACME, { cost: { [UNIT]: units } }))
    }
    const used = [40, 200, 900]
    for (const [at, call] of calls.entries()) {
      clock.advance(HOUR / 4)
      if (call.allowed) await call.settle({ [UNIT]: used[at] as number })
    }
    expect(await spend(1)).toBe(false)
    await adjust(limiter, ACME, { amount: 500, id: 'a', at: clock(), reason: 'sorry' })
    const cancelled = await reserve(limiter, ACME, { cost: { [UNIT]: 50 } })
    if (cancelled.allowed) await cancelled.cancel()
    expect(await spend(25)).toBe(true)
    const { totals } = await lawfulBalance(limiter)
    const { policies } = await usage(limiter, { from: NOON - DAY, to: NOON + DAY })
    const rows = policies.filter(({ policy }) => policy === 'credits')
    expect(rows.reduce((sum, { units }) => sum + units, 0)).toBe(totals.settled)
    expect(totals.settled).toBe(40 + 200 + 900 + 25)
    expect(rows.reduce((sum, { denied }) => sum + denied, 0)).toBe(1)
  })
})
