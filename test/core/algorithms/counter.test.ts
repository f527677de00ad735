import { createLimiter, manualClock, slidingWindowCounter, type Duration } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MIDNIGHT } from '../../support/times.ts'

const SEED = 20_260_117

interface Shape {
  readonly segments: number
  /** A segment's length in milliseconds. */
  readonly length: number
  readonly limit: number
}

interface Call {
  /**
   * The time since the call before: a share of a segment, whole segments, or those plus or minus 1
   * ms.
   */
  readonly gap: readonly [segments: number, share: number, off: number]
  /** The cost, as a share of the limit. */
  readonly share: number
}

interface Charge {
  readonly at: number
  readonly cost: number
}

const shape: fc.Arbitrary<Shape> = fc.record({
  segments: fc.constantFrom(1, 1, 2, 3, 6, 10, 60),
  length: fc.oneof(fc.constantFrom(1, 2, 3, 1_000, 60_000), fc.integer({ min: 1, max: 5_000 })),
  limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 1_000 })),
})

const calls: fc.Arbitrary<readonly Call[]> = fc.array(
  fc.record({
    gap: fc.oneof(
      fc.constant([0, 0, 0] as const),
      fc.tuple(fc.nat(2), fc.constant(0), fc.constantFrom(-1, 0, 1)),
      fc.tuple(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true }), fc.constant(0)),
    ),
    share: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
  }),
  { minLength: 1, maxLength: 80, size: 'max' },
)

const sum = (charges: readonly Charge[]): number =>
  charges.reduce((total, { cost }) => total + cost, 0)

/** The units charged in the `length` milliseconds that end with `last`. */
const heldUntil = (charges: readonly Charge[], last: number, length: number): number =>
  sum(charges.filter(({ at }) => at <= last && at > last - length))

/** Lives through the calls; hands every denial to `onDenial`, with what was charged until then. */
async function live(
  { segments, length, limit }: Shape,
  list: readonly Call[],
  onDenial: (now: number, cost: number, charges: readonly Charge[]) => void = () => {},
): Promise<Charge[]> {
  const clock = manualClock(MIDNIGHT)
  // With its unit, because a number below 1,000 is refused.
  const window: Duration = `${segments * length}ms`
  const policy = slidingWindowCounter({ name: 'p', limit, window, segments, per: 'global' })
  const limiter = createLimiter({ store: memory(), policies: [policy], clock })
  const charges: Charge[] = []
  for (const { gap, share } of list) {
    const [whole, part, off] = gap
    const start = Math.floor(clock() / length) * length
    // Whole segments lead onto a border or next to it.
    const target = whole > 0 ? start + whole * length + off : clock() + Math.floor(part * length)
    clock.set(Math.max(clock(), target))
    const cost = Math.max(1, Math.round(share * limit))
    const { allowed } = await limiter.check({}, { cost })
    if (allowed) charges.push({ at: clock(), cost })
    else onDenial(clock(), cost, charges)
  }
  return charges
}

async function always(property: (given: Shape, list: readonly Call[]) => Promise<void>) {
  await fc.assert(fc.asyncProperty(shape, calls, property), { seed: SEED, numRuns: 1_000 })
}

describe('a sliding window counter', () => {
  it('allows at most its limit in any period one segment shorter than its window', async () => {
    expect.hasAssertions()
    await always(async (given, list) => {
      const { segments, length, limit } = given
      const charges = await live(given, list)
      for (const { at } of charges) {
        expect(heldUntil(charges, at, (segments - 1) * length)).toBeLessThanOrEqual(limit)
      }
    })
  })

  it('exceeds its limit in any window-long period by at most the units of one segment', async () => {
    expect.hasAssertions()
    await always(async (given, list) => {
      const { segments, length, limit } = given
      const charges = await live(given, list)
      const segmentOf = ({ at }: Charge): number => Math.floor(at / length)
      const inSegments = charges.map((charge) =>
        sum(charges.filter((other) => segmentOf(other) === segmentOf(charge))),
      )
      const fullest = Math.max(0, ...inSegments)
      expect(fullest).toBeLessThanOrEqual(limit)
      for (const { at } of charges) {
        expect(heldUntil(charges, at, segments * length)).toBeLessThanOrEqual(limit + fullest)
      }
    })
  })

  it('denies nothing that an exact window, longer by one segment, would allow', async () => {
    expect.hasAssertions()
    let denials = 0
    await always(async (given, list) => {
      const { segments, length, limit } = given
      await live(given, list, (now, cost, charges) => {
        denials += 1
        expect(heldUntil(charges, now, (segments + 1) * length) + cost).toBeGreaterThan(limit)
      })
    })
    expect(denials).toBeGreaterThan(10_000)
  })

  // So the bounds cannot be any closer.
  it.each([1, 6])('of %i segments can exceed its limit by nearly one segment', async (segments) => {
    const clock = manualClock(MIDNIGHT)
    const [limit, window] = [600, 60_000]
    const policy = slidingWindowCounter({ name: 'p', limit, window, segments, per: 'global' })
    const limiter = createLimiter({ store: memory(), policies: [policy], clock })
    const charges: Charge[] = []
    const spendAll = async (): Promise<void> => {
      while ((await limiter.check({})).allowed) charges.push({ at: clock(), cost: 1 })
    }
    clock.advance(window / segments - 1)
    await spendAll()
    clock.advance(window - 1)
    await spendAll()
    const units = heldUntil(charges, clock(), window)
    expect(units).toBe(limit + limit - 1)
  })
})
