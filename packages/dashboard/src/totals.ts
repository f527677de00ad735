import type { Point, Totals } from './view.ts'

export type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

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

/** Returns sums with the counts or amounts of `to` in place of those of `from`. */
export const movedSums = <Sums extends Readonly<Record<string, number>>>(
  sums: Sums,
  from: Sums,
  to: Sums,
): Sums => {
  const moved = Object.entries(sums).map(([name, sum]) => [
    name,
    sum + (to[name] ?? 0) - (from[name] ?? 0),
  ])
  return Object.fromEntries(moved) as Sums
}
