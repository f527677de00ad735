import { readFileSync } from 'node:fs'
import { fixedWindow, manualClock, StoreError } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { metricsHandler, metricsText, prometheus } from '@sluice/otel/prometheus'
import { flushSeries, sharedSeries } from '@sluice/otel/shared-series'
import { describe, expect, it, vi } from 'vitest'
import { ACME, setUp, type SetUpOptions } from '../support/limiters.ts'
import { tableOf } from '../support/markdown.ts'
import { ownRedis } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { NOON } from '../support/times.ts'

const rpm = fixedWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })
const own = ownRedis()

/** One isolate of many that share their series. */
const isolate = (options: SetUpOptions, maxSeries = 1_000) =>
  setUp([rpm], { ...options, extensions: [prometheus({ maxSeries, share: sharedSeries() })] })
    .limiter

const decisionsOf = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('rate_limiter_decisions_total'))
    .toSorted()

describe('shared series', () => {
  it('are the sum of all isolates, read by one that decides nothing', async () => {
    const prefix = freshPrefix()
    const isolates = [1, 2, 3].map(() => isolate({ store: own.store(prefix) }))
    for (const limiter of isolates) {
      await limiter.check(ACME)
      await flushSeries(limiter)
      await flushSeries(limiter)
    }
    const text = await metricsText(isolate({ store: own.store(prefix) }))
    expect(decisionsOf(text)).toEqual([
      'rate_limiter_decisions_total{rate_limiter_outcome="allowed"} 2',
      'rate_limiter_decisions_total{rate_limiter_policy="rpm",rate_limiter_outcome="denied"} 1',
    ])
    expect(text).toContain(
      'rate_limiter_store_duration_seconds_count{rate_limiter_store_call="check"} 3',
    )
  })

  it('are added in `waitUntil`, without a flush of your own', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      const store = memory()
      const limiter = isolate({ store })
      const work: Promise<unknown>[] = []
      await limiter.check(ACME, { waitUntil: (promise) => void work.push(promise) })
      expect(work).toHaveLength(1)
      expect(decisionsOf(await metricsText(limiter))).toEqual([])
      await vi.advanceTimersByTimeAsync(10_000)
      await Promise.all(work)
      expect(decisionsOf(await metricsText(limiter))).toHaveLength(1)
    } finally {
      vi.useRealTimers()
    }
  })

  it('take the commands that the page states', async () => {
    const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')
    const published = [...tableOf(page, 'call').values()].map((row) =>
      Number(row['Redis commands']),
    )
    const clock = manualClock(NOON)
    const limiter = isolate({ store: own.store(freshPrefix()), clock })
    const commandsOf = async (work: () => Promise<unknown>): Promise<number> =>
      (await own.meter.measure(work)).total
    const add = async (route: string): Promise<number> => {
      await limiter.check({ tenant: route, route })
      return commandsOf(() => flushSeries(limiter))
    }
    const first = await add('a')
    const newSeries = await add('b')
    // A second request crosses the thresholds of its limit, which are series, too.
    for (const route of ['b', 'c']) await add(route)
    const known = await add('c')
    const scrape = await commandsOf(() => metricsText(limiter))
    expect([known, newSeries, first, scrape]).toEqual(published)
  })

  it('expire, begin anew each month, and are bounded', async () => {
    const prefix = freshPrefix()
    const clock = manualClock(NOON)
    const limiter = isolate({ store: own.store(prefix), clock }, 3)
    for (const route of ['a', 'b', 'c', 'd', 'e']) {
      await limiter.check({ tenant: route, route })
      await flushSeries(limiter)
    }
    const [key = ''] = await own.redis.keys(`${prefix}:metrics:20*`)
    expect(await own.redis.pttl(key)).toBeGreaterThan(30 * 86_400_000)
    expect(await own.redis.hlen(key)).toBeLessThanOrEqual(3 + 3)
    const counts = decisionsOf(await metricsText(limiter)).map((line) => Number(line.split(' ')[1]))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5)
    clock.advance(31 * 86_400_000)
    expect(decisionsOf(await metricsText(limiter))).toEqual([])
  })

  it('that cannot be read are a 503, not an empty answer', async () => {
    const error = new StoreError('store_unreachable', 'down')
    const limiter = isolate({ store: { ...memory(), run: () => Promise.reject(error) } })
    const response = await metricsHandler(limiter)()
    expect([response.status, await response.text()]).toEqual([
      503,
      'The store failed: store_unreachable\n',
    ])
  })
})
