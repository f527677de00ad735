import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { storesOf, STORES_TO_TEST, type StoreName } from '../support/stores.ts'
import { bucketLimits } from './cases/bucket-limits.ts'
import { buckets } from './cases/buckets.ts'
import { logs } from './cases/logs.ts'
import { partitions } from './cases/partitions.ts'
import { severalPolicies } from './cases/policies.ts'
import { records } from './cases/records.ts'
import { resets } from './cases/resets.ts'
import { windows } from './cases/windows.ts'
import { zeroLimits } from './cases/zero-limits.ts'

const TENANT = { name: 'p', per: ['tenant'] } as const
const HOUR = { ...TENANT, limit: 20, window: '1h' } as const

/** Limits of 20, and how often each is tried. */
const TWENTY: readonly (readonly [what: string, policies: readonly Policy[], times: number])[] = [
  ['a sliding window', [slidingWindow(HOUR)], 100],
  ['a fixed window', [fixedWindow(HOUR)], 20],
  ['a session window', [sessionWindow({ ...TENANT, limit: 20, idle: '1h' })], 20],
  ['a session of a length', [sessionWindow({ ...TENANT, limit: 20, length: '1h' })], 20],
  ['a sliding window counter', [slidingWindowCounter({ ...HOUR, segments: 6 })], 20],
  ['a token bucket', [tokenBucket(HOUR)], 20],
  ['a leaky bucket', [leakyBucket({ ...HOUR, limit: 1, burst: 20 })], 20],
  [
    'a log',
    [
      slidingWindows({
        name: 'p',
        per: ['tenant'],
        windows: { hour: { limit: 20, window: '1h' }, day: { limit: 400, window: '1d' } },
      }),
    ],
    20,
  ],
]
const FEWER: Partial<Record<StoreName, number>> = { 'embedded engine, built-in transport': 0.2 }

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  windows(make)
  severalPolicies(make)
  partitions(make)
  records(make)
  buckets(make)
  bucketLimits(make)
  logs(make)
  zeroLimits(make)
  resets(make)

  it.each(TWENTY)('of 25 concurrent checks of %s of 20, exactly 5 are denied', async (...row) => {
    const [, policies, times] = row
    const limiter = createLimiter({ store: make(), policies })
    for (let time = 0; time < times * (FEWER[name] ?? 1); time += 1) {
      const subject = { tenant: `t${time}` }
      const decisions = await Promise.all(Array.from({ length: 25 }, () => limiter.check(subject)))
      expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
      expect(decisions.filter(({ allowed }) => !allowed)).toHaveLength(5)
      const left = decisions
        .filter(({ allowed }) => allowed)
        .map(({ policies: [state] }) => state?.remaining)
      expect(left.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(
        Array.from({ length: 20 }, (_, n) => n),
      )
    }
  })
})
