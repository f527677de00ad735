import { budget, usd } from '@sluice/ai'
import { manualClock, slidingWindow, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { flushUsage } from '@sluice/usage'
import { usage, type UsageRow } from '@sluice/usage/report'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'
import { recording } from '../support.ts'

const shared = sharedRedis()

/** Decides in memory, and keeps records on Redis: tests of many tenants are about records. */
function recordsOnRedis(): Store {
  const redis = shared.store()
  return { ...memory(), run: (operation) => redis.run(operation) }
}

const POLICIES = [
  budget({ daily: usd(1_000), per: ['tenant'] }),
  slidingWindow({ name: 'rpm', limit: 10 ** 9, window: '1h', per: ['tenant'] }),
]

const problem = vi.spyOn(console, 'error')
beforeEach(() => void problem.mockImplementation(() => undefined))
afterEach(() => void problem.mockReset())

const total = (rows: readonly UsageRow[]) => ({
  requests: rows.reduce((sum, { requests }) => sum + requests, 0),
  usd: rows.reduce((sum, row) => sum + row.usd, 0),
})

/** The sums of a tenant's rows, and of all. */
const sums = (rows: readonly UsageRow[], tenant: string) => ({
  own: total(rows.filter((row) => row.tenant === tenant)),
  all: total(rows),
})

describe.each([
  ['memory', 200_000, memory],
  ['Redis', 10_000, recordsOnRedis],
])('in %s, among %i small tenants above the bound', (_, tenants, makeStore) => {
  it('a scraper that comes late has a row, exact but for what was folded before it was seen', async () => {
    const clock = manualClock(NOON)
    const { limiter } = recording(POLICIES, {
      store: makeStore(),
      clock,
      usage: { tenants: 'plain', maxCells: 600 },
    })
    const spend = (tenant: string, micro: number) =>
      limiter.check({ tenant }, { cost: { request: 1, usd: micro } })
    let scraped = 0
    for (let tenant = 0; tenant < tenants; tenant += 1) {
      await spend(`t${tenant}`, 10)
      if (tenant >= 1_000 && tenant % 4 === 0) {
        await spend('scraper', 1_000)
        scraped += 1
      }
      if (tenant % 300 === 299) await flushUsage(limiter)
    }
    for (const by of ['hour', 'day'] as const) {
      const { rows, policies } = await usage(limiter, { by })
      const { own, all } = sums(rows, 'scraper')
      expect(all).toEqual({ requests: tenants + scraped, usd: tenants * 10 + scraped * 1_000 })
      // It has a row from the flush on after the one that found the store full.
      expect(own.requests).toBeGreaterThan(scraped - 150)
      expect(own.requests).toBeLessThanOrEqual(scraped)
      expect(own.usd).toBe(own.requests * 1_000)
      const ofPolicies = policies.filter((row) => row.tenant === 'scraper')
      expect(ofPolicies.map(({ policy }) => policy)).toEqual(['budget.daily', 'rpm'])
      for (const { policy, units } of ofPolicies) {
        expect(units).toBeLessThanOrEqual(policy === 'rpm' ? scraped : scraped * 1_000)
      }
      expect(rows.length + policies.length).toBeLessThanOrEqual(606)
    }
  })
})

it('an isolate whose store does not answer keeps its large cells apart', async () => {
  const store = memory()
  let isDown = true
  const failing: Store = {
    ...store,
    run: (operation) => (isDown ? Promise.reject(new Error('down')) : store.run(operation)),
  }
  const { limiter } = recording(POLICIES, { store: failing })
  const spend = (tenant: string, micro: number) =>
    limiter.check({ tenant }, { cost: { request: 1, usd: micro } })
  for (let tenant = 0; tenant < 5_000; tenant += 1) {
    await spend(`t${tenant}`, 10)
    if (tenant >= 2_000) await spend('scraper', 1_000)
  }
  isDown = false
  const { own, all } = sums((await usage(limiter)).rows, 'scraper')
  expect(all).toEqual({ requests: 8_000, usd: 50_000 + 3_000_000 })
  expect(own).toEqual({ requests: 3_000, usd: 3_000_000 })
})
