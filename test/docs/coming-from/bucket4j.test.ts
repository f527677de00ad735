import type { Decision } from '@sluice/core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Bucket, type Bandwidth, type Probe } from './models/bucket4j.ts'
import { at, block, cleanUp, source, START, stillClock } from './page.ts'

cleanUp()
stillClock()

const MINUTE = 60_000
const tenant = 'acme'

/** Waits and costs: bursts, pauses around the windows' ends, long ones, and costs above the capacity. */
const history = fc.array(
  fc.record({
    waitMs: fc.oneof(
      fc.constantFrom(0, 1, 99, 100, 999, 1_000, 59_999, MINUTE),
      fc.nat({ max: 7_000 }),
    ),
    cost: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 9 }) },
      fc.integer({ min: 10, max: 120 }),
    ),
    peek: fc.boolean(),
  }),
  { minLength: 1, maxLength: 120 },
)

describe.each([
  ['Bandwidths.java', 'bandwidths'],
  ['Interval.java', 'interval'],
])('Bucket4j with the bandwidths of %s', (theirs, ours) => {
  it('consumes the same, with the same remainder and the same wait', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const { limiter } = await block(ours)
        const bucket = new Bucket(bandwidthsOf(source(theirs)), at(0))
        let ms = 0
        for (const { waitMs, cost, peek } of steps) {
          const now = at((ms += waitMs))
          const verb = peek ? 'estimateAbilityToConsume' : 'tryConsumeAndReturnRemaining'
          const probe = bucket[verb](BigInt(cost), now)
          const decision = await limiter[peek ? 'peek' : 'check']({ tenant }, { cost })
          expect(asProbe(decision)).toEqual(inMs(probe))
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe("the model's refills are those of Bucket4j's reference", () => {
  it.each([
    ['greedy', [0n, 1n, 2n, 9n, 10n]],
    ['intervally', [0n, 0n, 0n, 0n, 10n]],
  ] as const)('%s: 10 tokens in a second', (refill, left) => {
    const bucket = new Bucket([{ capacity: 10n, tokens: 10n, periodMs: 1000, refill }], 0)
    bucket.tryConsumeAndReturnRemaining(10n, 0)
    const tokensLeft = [99, 100, 200, 999, 1000].map(
      (ms) => bucket.estimateAbilityToConsume(1n, ms).remainingTokens,
    )
    expect(tokensLeft).toEqual(left)
  })
})

/** The limits of a bucket, as Java has them. */
function bandwidthsOf(java: string): Bandwidth[] {
  const limits = java.matchAll(
    /capacity\((\d+)\)\.refill(Greedy|IntervallyAligned)\((\d+), Duration\.of(Minutes|Seconds)\((\d+)\)/g,
  )
  return Array.from(limits, ([, capacity = '', refill, tokens = '', unit, periods]) => {
    const periodMs = Number(periods) * (unit === 'Minutes' ? MINUTE : 1000)
    const counting = { capacity: BigInt(capacity), tokens: BigInt(tokens), periodMs }
    return refill === 'Greedy'
      ? { ...counting, refill: 'greedy' }
      : { ...counting, refill: 'intervally', firstRefillMs: START + MINUTE }
  })
}

function asProbe({ allowed, policies, retryAfterMs }: Decision) {
  return {
    consumed: allowed,
    left: Math.min(...policies.map(({ remaining }) => remaining)),
    waitMs: retryAfterMs,
  }
}

function inMs({ consumed, remainingTokens, nanosToWaitForRefill: nanos }: Probe) {
  const waitMs = nanos === undefined ? null : Number((nanos + 999_999n) / 1_000_000n)
  return { consumed, left: Number(remainingTokens), waitMs }
}
