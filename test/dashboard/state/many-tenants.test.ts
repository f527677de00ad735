import { budget, usd } from '@sluice/ai'
import { createLimiter, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { createDashboard, type View } from '@sluice/dashboard'
import { describe, expect, it } from 'vitest'
import { stateOf } from '../../../packages/dashboard/dist/server/dashboard.js'
import { mergeView } from '../../../packages/dashboard/dist/react/merge.js'
import { extentOf } from '../../../packages/dashboard/dist/react/tenants.js'
import { NOON } from '../support.ts'

const DAY_MS = 86_400_000

function setup() {
  const clock = manualClock(NOON)
  const dashboard = createDashboard({ clock })
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [budget({ daily: usd(1_000), per: ['tenant'] })],
    extensions: [dashboard.watch()],
  })
  const spend = async (tenant: string, micro: number): Promise<void> => {
    expect((await limiter.check({ tenant }, { cost: { usd: micro } })).allowed).toBe(true)
  }
  const spendEach = async (prefix: string, count: number, micro: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) await spend(`${prefix}${index}`, micro)
  }
  return {
    clock,
    dashboard,
    limiter,
    spend,
    spendEach,
    spent: () => dashboard.view().totals.usedUsd,
  }
}

const byName = (view: View) => new Map(view.tenants.map((each) => [each.tenant, each]))
const namesIn = (view: View): string[] => view.tenants.map(({ tenant }) => tenant).toSorted()

/** Random numbers below `below`, the same in each run. */
function randomNumbers(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe('a dashboard with more tenants than its list', () => {
  it('keeps the dollars of all, and lists the one that has spent most', async () => {
    const { dashboard, spend, spendEach, spent } = setup()
    await spend('burner', 900_000_000)
    await spendEach('t', 600, 200_000)
    const view = dashboard.view()
    expect(spent()).toBe(900_000_000 + 600 * 200_000)
    expect(view.tenants.length).toBeLessThanOrEqual(200)
    const burner = view.tenants.find(({ tenant }) => tenant === 'burner')
    expect(burner).toMatchObject({ usedUsd: 900_000_000, policies: [{ unit: 'usd' }] })
    expect(view).toMatchObject({ knownTenants: 601, isPartial: false })
  })

  it('draws the one that spends most, though fifty others came first in the second', async () => {
    const { clock, dashboard, spend, spendEach } = setup()
    await spend('burner', 900_000_000)
    clock.advance(60_000)
    await spendEach('t', 100, 200_000)
    await spend('burner', 1_000_000)
    const { seconds, minutes } = dashboard.view()
    for (const tick of [seconds.at(-1), minutes.at(-1)]) {
      expect(tick?.tenants['burner']).toMatchObject({ allowed: 1, usedUsd: 901_000_000 })
      expect(Object.keys(tick?.tenants ?? {})).toHaveLength(50)
    }
  })

  it('counts a tenant that comes back once, with all of its window', async () => {
    const { spend, spendEach, spent } = setup()
    await spend('back', 100_000)
    await spendEach('t', 600, 200_000)
    await spend('back', 50_000)
    expect(spent()).toBe(150_000 + 600 * 200_000)
  })

  it('gives back what a call has not used after its tenant has left the list', async () => {
    const { dashboard, limiter, spendEach } = setup()
    const call = await reserve(limiter, { tenant: 'slow' }, { cost: { usd: 100_000 } })
    await spendEach('t', 600, 200_000)
    expect(dashboard.view().totals).toMatchObject({ heldUsd: 100_000 })
    expect(namesIn(dashboard.view())).not.toContain('slow')
    if (call.allowed) await call.settle({ usd: 10_000 })
    const all = 10_000 + 600 * 200_000
    expect(dashboard.view().totals).toMatchObject({ heldUsd: 0, usedUsd: all })
  })

  it('counts the dollars of no window that is over', async () => {
    const { clock, dashboard, spend, spendEach, spent } = setup()
    await spend('burner', 900_000_000)
    await spendEach('t', 600, 200_000)
    clock.set(NOON - (NOON % DAY_MS) + DAY_MS)
    expect(spent()).toBe(0)
    await spend('t7', 300)
    expect(spent()).toBe(300)
    expect(dashboard.view().tenants).toContainEqual(
      expect.objectContaining({ tenant: 't7', usedUsd: 300 }),
    )
  })

  it('never says that less than nothing is spent while a call runs over midnight', async () => {
    const { clock, dashboard, limiter, spend } = setup()
    clock.set(NOON - (NOON % DAY_MS) + DAY_MS - 1_000)
    await reserve(limiter, { tenant: 'late' }, { cost: { usd: 100_000 } })
    clock.advance(1_000)
    await spend('late', 200)
    const { usedUsd, heldUsd } = dashboard.view().totals
    expect(usedUsd - heldUsd).toBeGreaterThanOrEqual(0)
  })

  it('forgets one tenant with its dollars and counts, listed or not', async () => {
    const { dashboard, spend, spendEach } = setup()
    await spend('light', 100)
    await spendEach('t', 600, 200_000)
    expect(namesIn(dashboard.view())).not.toContain('light')
    dashboard.forget('light')
    expect(dashboard.view()).toMatchObject({
      totals: { allowed: 600, usedUsd: 600 * 200_000 },
      knownTenants: 600,
    })
  })

  it.each([1, 2, 3])('sends each page the list that the server has (seed %i)', async (seed) => {
    const random = randomNumbers(seed)
    const { clock, dashboard, limiter } = setup()
    const state = stateOf(dashboard)
    if (!state) throw new Error('createDashboard has made it')
    let page = state.since(-1)
    let sent = state.version
    for (let step = 0; step < 1_500; step += 1) {
      const tenant = `t${random(random(2) === 0 ? 20 : 500)}`
      await limiter.check({ tenant }, { cost: { usd: random(100_000) } })
      clock.advance(random(120_000))
      if (random(10) > 0) continue
      page = mergeView(page, state.since(sent))
      sent = state.version
      const view = dashboard.view()
      expect(namesIn(page)).toEqual(namesIn(view))
      expect(byName(page)).toEqual(byName(view))
    }
  })

  it('says "at least" beyond 20,000 tenants, keeps the heaviest, and is exact in the next window', async () => {
    const { clock, dashboard, spend, spendEach } = setup()
    await spend('burner', 900_000_000)
    await spendEach('heavy', 300, 5_000_000)
    await spendEach('t', 20_500, 100)
    const view = dashboard.view()
    expect(view.isPartial).toBe(true)
    expect(view.knownTenants).toBeLessThanOrEqual(20_000)
    const heavy = 900_000_000 + 300 * 5_000_000
    expect(view.totals.usedUsd).toBeGreaterThan(heavy)
    expect(view.totals.usedUsd).toBeLessThan(heavy + 20_500 * 100)
    expect(view.totals.allowed).toBe(20_801)
    expect(namesIn(view)).toContain('burner')
    clock.set(NOON - (NOON % DAY_MS) + DAY_MS)
    await spendEach('t', 10, 100)
    expect(dashboard.view()).toMatchObject({ isPartial: false, totals: { usedUsd: 1_000 } })
  })
})

it.each([
  [{ knownTenants: 10, isPartial: false }, /^nothing$/],
  [{ knownTenants: 5_100, isPartial: false }, /^The 10 heaviest of 5,100 tenants; 2 can be chosen/],
  [{ knownTenants: 20_000, isPartial: true }, /There are more: the sums are the least/],
])('the page says of how many tenants it tells: %j', (known, text) => {
  const tenants = setup().dashboard.view().tenants
  const shown = extentOf({ ...known, tenants: [...tenants, ...Array(2)] as never })
  expect(shown ?? 'nothing').toMatch(text)
})
