import { createLimiter, type Store } from '@sluice/core'
import { expect } from 'vitest'
import { costOf, put } from './replay.ts'
import { policiesOf, rules, type Rule } from './rules.ts'
import * as fc from 'fast-check'
import { endOf, type Ask } from './oracle.ts'

/** A check by a clock that may stand behind the furthest one so far. */
export interface SkewedEvent {
  /** How far the furthest clock moves on first, in milliseconds. */
  readonly onMs: number
  /** How far behind it this check's clock stands, in milliseconds. */
  readonly behindMs: number
  readonly ask: Ask
}

/** The windows are short enough for the clocks to cross many. */
const SHORT_MS = 10_000

export const shortRules: fc.Arbitrary<readonly Rule[]> = rules(SHORT_MS).map((list) =>
  list.map((rule) => ({
    ...rule,
    windowMs: SHORT_MS + (rule.windowMs % 2) * 2_000,
    limit: 1 + (rule.limit % 6),
  })),
)

const units = fc.integer({ min: 0, max: 5 })

/** Checks by clocks that stand at most `skewMs` behind the furthest. */
export const skewedEvents = (skewMs: number): fc.Arbitrary<readonly SkewedEvent[]> =>
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
        cost: fc.record({ request: fc.constantFrom(1, 1, 2, 7), token: units }),
      }),
    }),
    { minLength: 1, maxLength: 120, size: 'max' },
  )

interface Charge {
  /** The furthest clock that had charged the partition until then. */
  readonly furthest: number
  readonly cost: number
}

/**
 * Lives through a history with every store, and compares what they say. What no store can promise
 * under such clocks is an exact window: one that is shorter by the skew is what must never overflow.
 */
export async function replaySkewed(
  stores: readonly Store[],
  list: readonly Rule[],
  startMs: number,
  events: readonly SkewedEvent[],
  { skewMs, realExpiryMs }: { readonly skewMs: number; readonly realExpiryMs: number },
): Promise<void> {
  const policies = policiesOf(list)
  const charges = list.map(() => new Map<string, Charge[]>())
  let furthest = startMs
  for (const { onMs, behindMs, ask: asked } of events) {
    furthest += onMs
    const now = furthest - behindMs
    const ask = { ...asked, cost: costOf(asked, list) }
    const limiters = stores.map((store) => createLimiter({ store, policies, clock: () => now }))
    const peeked = await Promise.all(limiters.map((limiter) => put(limiter, ask, false)))
    for (const other of peeked) expect(other).toEqual(peeked[0])
    // In Redis a key expires by the real clock, so one that is about to is better not written.
    const expiresSoon = peeked[0]?.policies.some(
      ({ resetMs }, index) => list[index]?.kind !== 'sliding' && resetMs < realExpiryMs,
    )
    if (expiresSoon) continue
    const decisions = await Promise.all(limiters.map((limiter) => put(limiter, ask, true)))
    for (const other of decisions) expect(other).toEqual(decisions[0])
    if (!decisions[0]?.allowed) continue
    for (const [index, { per, unit }] of list.entries()) {
      const partition = per === 'global' || !per.includes('tenant') ? '' : ask.tenant
      const earlier = charges[index]?.get(partition) ?? []
      charges[index]?.set(partition, earlier)
      const cost = ask.cost[unit] ?? 0
      const last = earlier.at(-1)?.furthest ?? now
      if (cost > 0) earlier.push({ furthest: Math.max(now, last), cost })
    }
  }
  for (const [index, rule] of list.entries()) {
    for (const partition of charges[index]?.values() ?? []) {
      expect(mostHeld(rule, partition, skewMs)).toBeLessThanOrEqual(rule.limit)
    }
  }
}

/** The most units that a window of `rule` held; of a sliding one, a window shorter by the skew. */
function mostHeld(rule: Rule, charges: readonly Charge[], skewMs: number): number {
  const held = (last: Charge): number =>
    charges
      .filter(({ furthest }) =>
        rule.kind === 'sliding'
          ? furthest > last.furthest - (rule.windowMs - skewMs) && furthest <= last.furthest
          : endOf(rule, furthest) === endOf(rule, last.furthest),
      )
      .reduce((sum, { cost }) => sum + cost, 0)
  return Math.max(0, ...charges.map(held))
}
