import type { Point, Totals } from './view.ts'

/** The amounts after an event. */
export type Levels = Pick<Point, 'usedUsd' | 'heldUsd' | 'budgetUsd' | 'avoidedUsd'>

/** The counts of `Totals`, which only grow, without its amounts. */
export type Counts = Omit<Totals, keyof Levels>

export const NO_LEVELS: Levels = { usedUsd: 0, heldUsd: 0, budgetUsd: 0, avoidedUsd: 0 }

/** A second or minute without an event, without its amounts. */
export const NO_ACTIVITY: Omit<Point, keyof Levels> = {
  allowed: 0,
  denied: 0,
  degraded: 0,
  tokens: 0,
}

/** The counts before any event. */
export const NO_COUNTS: Counts = { ...NO_ACTIVITY, avoidedCalls: 0 }

/** Returns the sum of two counts. */
export const addCounts = (a: Counts, b: Counts): Counts => ({
  allowed: a.allowed + b.allowed,
  denied: a.denied + b.denied,
  degraded: a.degraded + b.degraded,
  tokens: a.tokens + b.tokens,
  avoidedCalls: a.avoidedCalls + b.avoidedCalls,
})
