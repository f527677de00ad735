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

/** Adds counts, or takes them away with a `sign` of -1. */
export const addCounts = (a: Counts, b: Counts, sign: 1 | -1 = 1): Counts => ({
  allowed: a.allowed + sign * b.allowed,
  denied: a.denied + sign * b.denied,
  degraded: a.degraded + sign * b.degraded,
  tokens: a.tokens + sign * b.tokens,
  avoidedCalls: a.avoidedCalls + sign * b.avoidedCalls,
})

/** Adds amounts, or takes them away with a `sign` of -1. */
export const addLevels = (a: Levels, b: Levels, sign: 1 | -1 = 1): Levels => ({
  usedUsd: a.usedUsd + sign * b.usedUsd,
  heldUsd: a.heldUsd + sign * b.heldUsd,
  budgetUsd: a.budgetUsd + sign * b.budgetUsd,
  avoidedUsd: a.avoidedUsd + sign * b.avoidedUsd,
})
