import { createLimiter, type Store } from '@sluice/core'
import * as fc from 'fast-check'
import { expect } from 'vitest'
import { mostHeld } from './bounds.ts'
import type { Ask } from './oracle.ts'
import { costOf, hasEnd, put } from './replay.ts'
import { isBucket, policiesOf, rules, takingPart, type Rule } from './rules.ts'
import type { Charge } from './usage.ts'

/** A check by a clock that may stand behind the furthest one so far. */
export interface SkewedEvent {
  /** The milliseconds by which the most advanced clock moves on first. */
  readonly onMs: number
  /** The milliseconds by which the clock of this check is behind it. */
  readonly behindMs: number
  readonly ask: Ask
  /** The factor of limits and bursts. */
  readonly factor: number
}

/** The windows are short enough for the clocks to cross many. */
const SHORT_MS = 10_000

export const shortRules: fc.Arbitrary<readonly Rule[]> = rules(SHORT_MS, 4).map((list) =>
  list.map((rule) => ({
    ...rule,
    windowMs: SHORT_MS + (rule.windowMs % 2) * 2_000,
    limit: 1 + (rule.limit % 6),
    burst: 1 + (rule.burst % 6),
  })),
)

const units = fc.integer({ min: 0, max: 5 })

/** Checks by clocks that stand at most `skewMs` behind the furthest, of limits times one of `factors`. */
export const skewedEvents = (
  skewMs: number,
  factors: readonly number[] = [1],
): fc.Arbitrary<readonly SkewedEvent[]> =>
  fc.array(
    fc.record({
      onMs: fc.oneof(
        fc.constantFrom(0, 0, 1, skewMs, SHORT_MS - 1, SHORT_MS, 2 * SHORT_MS),
        fc.integer({ min: 0, max: 2 * SHORT_MS }),
      ),
      behindMs: fc.oneof(fc.constantFrom(0, 0, skewMs), fc.integer({ min: 0, max: skewMs })),
      ask: fc.record({
        tenant: fc.constantFrom('a', 'a', 'b'),
        route: fc.constant('x'),
        cost: fc.record({ request: fc.constantFrom(1, 1, 2, 7), token: units, usd: units }),
      }),
      factor: fc.constantFrom(...factors),
    }),
    { minLength: 1, maxLength: 120, size: 'max' },
  )

/**
 * Lives through a history with every store, and compares what they say. The one promise that no store can keep
 * under such clocks is an exact window: one that is shorter by the skew is what must never overflow.
 */
export async function replaySkewed(
  stores: readonly Store[],
  list: readonly Rule[],
  startMs: number,
  events: readonly SkewedEvent[],
  { skewMs, realExpiryMs }: { readonly skewMs: number; readonly realExpiryMs: number },
): Promise<void> {
  // By the furthest clock that had charged the partition until then.
  const charges = new Map(list.map((rule) => [rule, new Map<string, Scaled[]>()]))
  let furthest = startMs
  for (const { onMs, behindMs, ask: given, factor } of events) {
    furthest += onMs
    const now = furthest - behindMs
    const ask = { ...given, cost: costOf(given, list) }
    const asked = takingPart(list, ask.route)
    const policies = policiesOf(list.map((rule) => times(rule, factor)))
    const limiters = stores.map((store) => createLimiter({ store, policies, clock: () => now }))
    const peeked = await Promise.all(limiters.map((limiter) => put(limiter, ask, false)))
    for (const other of peeked) expect(other).toEqual(peeked[0])
    // In Redis a key expires by the real clock, so one that is about to is better not written.
    const states = peeked[0]?.policies ?? []
    const expiresSoon = (rule: Rule, index: number): boolean =>
      hasEnd(rule) && (states[index]?.resetMs ?? 0) < realExpiryMs
    if (asked.some(expiresSoon)) continue
    const decisions = await Promise.all(limiters.map((limiter) => put(limiter, ask, true)))
    for (const other of decisions) expect(other).toEqual(decisions[0])
    if (!decisions[0]?.allowed) continue
    for (const [index, rule] of asked.entries()) {
      const { fits, cost } = decisions[0].policies[index] ?? { fits: false, cost: 0 }
      if (!fits || cost === 0) continue
      const partition = rule.per === 'global' || !rule.per.includes('tenant') ? '' : ask.tenant
      const byPartition = charges.get(rule)
      const earlier = byPartition?.get(partition) ?? []
      byPartition?.set(partition, [
        ...earlier,
        { at: Math.max(now, earlier.at(-1)?.at ?? now), cost, factor },
      ])
    }
  }
  const factors = new Set(events.map(({ factor }) => factor))
  for (const [rule, byPartition] of charges) {
    // Units in a window were let in by the limits of their day; a bucket holds each limit by itself.
    if (factors.size > 1 && !isBucket(rule)) continue
    // The times of a shared log never go back, so that its windows are exact by the
    // furthest clock.
    const shorterMs = rule.log === undefined ? skewMs : 0
    for (const partition of byPartition.values()) {
      for (const factor of factors) {
        const own = partition.filter((charge) => charge.factor === factor)
        expect(mostHeld(times(rule, factor), own, shorterMs)).toBeLessThanOrEqual(1)
      }
    }
  }
}

interface Scaled extends Charge {
  readonly factor: number
}

/** A rule with a larger or smaller limit and burst. */
function times(rule: Rule, factor: number): Rule {
  const more = (most: number): number => Math.max(1, Math.floor(most * factor))
  return { ...rule, limit: more(rule.limit), burst: more(rule.burst) }
}
