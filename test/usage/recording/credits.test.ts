import { createLimiter, manualClock, StoreError, type Extension, type Store } from '@sluice/core'
import { balance, credits, grant, settleHold } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { flushUsage, recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { expect, it, vi } from 'vitest'
import { ACME, collectProblems } from '../../support/limiters.ts'
import { PATIENTLY } from '../../support/patience.ts'
import { HOUR, NOON } from '../../support/times.ts'

function setUp(store: Store = memory(), extensions: readonly Extension[] = []) {
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store,
    clock,
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
    extensions: [recordUsage({ tenants: 'plain' }), ...extensions],
  })
  const pay = () => grant(limiter, ACME, { amount: 10_000_000, id: 'p', at: NOON, kind: 'paid' })
  const rows = async () => {
    await flushUsage(limiter)
    return usage(limiter)
  }
  return { limiter, clock, pay, rows }
}

it('a balance has one row, whatever was there at each charge, with the units that are settled', async () => {
  const { limiter, pay, rows } = setUp()
  await pay()
  for (let call = 0; call < 20; call += 1) {
    await limiter.check(ACME, { cost: { usd: 100_000 } })
  }
  const held = await reserve(limiter, ACME, { cost: { usd: 2_000_000 } })
  if (held.allowed) await held.settle({ usd: 500_000 })
  await limiter.check(ACME, { cost: { usd: 9_000_000 } })
  const { rows: calls, policies } = await rows()
  expect(policies).toMatchObject([
    { policy: 'credits', limit: 0, requests: 22, units: 2_500_000, denied: 1 },
  ])
  expect(calls.find(({ outcome }) => outcome === 'allowed')?.usd).toBe(2_500_000)
})

it.each([
  ['below its estimate', 300_000, 0],
  ['above it', 3_000_000, 0],
  ['at it', 2_000_000, 0],
  ['hours later', 300_000, 5 * HOUR],
])(
  'a hold that is settled by its id %s corrects the rows of its tenant',
  async (_, used, later) => {
    const { limiter, clock, pay, rows } = setUp()
    await pay()
    await reserve(limiter, { ...ACME, model: 'large' }, { cost: { usd: 2_000_000 } })
    const [hold] = (await balance(limiter, ACME)).reservations
    clock.advance(later)
    const settle = () => settleHold(limiter, ACME, hold?.id ?? '', used)
    expect([(await settle()).applied, (await settle()).applied]).toEqual([true, false])
    const { rows: calls, policies } = await rows()
    expect(policies.reduce((all, { units }) => all + units, 0)).toBe(used)
    const sum = calls.reduce((all, { usd }) => all + usd, 0)
    expect([sum, (await balance(limiter, ACME)).totals.settled]).toEqual([used, used])
    expect(new Set(calls.map(({ tenant }) => tenant))).toEqual(new Set(['acme']))
  },
)

const lost = () => Promise.reject(new StoreError('store_timeout', 'The reply was lost'))

/** A store that is lost once it has made a reservation, for as long as `isDown`. */
function losingStore() {
  const inner = memory()
  const state = { isDown: false }
  const store: Store = {
    ...inner,
    async check(request) {
      const answer = await inner.check(request)
      return state.isDown && request.mark ? lost() : answer
    },
    run: (operation) =>
      state.isDown && operation.kind.name === 'settle' ? lost() : inner.run(operation),
  }
  return { store, state }
}

it.each([0, 500_000])(
  'a hold that usage has no estimate of, as its call was answered with 503, is settled at %i without it',
  async (used) => {
    const { store, state } = losingStore()
    const { problems, listener } = collectProblems()
    const { limiter, pay, rows } = setUp(store, [listener])
    await pay()
    const done = await reserve(limiter, ACME, { cost: { usd: 100_000 } })
    if (done.allowed) await done.settle({ usd: 100_000 })
    state.isDown = true
    const denied = await reserve(limiter, ACME, { cost: { usd: 2_000_000 } })
    expect(denied).toMatchObject({ allowed: false, reason: 'store_unavailable' })
    await vi.waitFor(
      () => expect(problems.map(({ code }) => code)).toContain('reservation_lost'),
      PATIENTLY,
    )
    state.isDown = false
    const [hold] = (await balance(limiter, ACME)).reservations
    const { applied } = await settleHold(limiter, ACME, hold?.id ?? '', used, { recorded: false })
    expect(applied).toBe(true)
    const { rows: calls, policies } = await rows()
    const sums = [calls.map(({ usd }) => usd), policies.map(({ units }) => units)]
    const { totals } = await balance(limiter, ACME)
    expect(sums.map((all) => all.reduce((sum, one) => sum + one, 0))).toEqual([
      totals.settled,
      totals.settled,
    ])
    expect(totals.settled).toBe(100_000 + used)
    expect(Math.min(...sums.flat())).toBe(0)
  },
)
