import type { CallSum } from '../call.ts'
import type { Span } from './meter.ts'
import {
  beginPeriod,
  isSame,
  limitOf,
  SIDES,
  type Partition,
  type Row,
  type Share,
  type Side,
} from './partition.ts'

/** The rows of a period, and the partitions that they are in. */
export interface Period {
  readonly span: Span
  readonly rows: readonly Row[]
  readonly partitions: readonly Partition[]
}

/** Arranges the rows of a period, and finds those about which the two sets may decide differently. */
export function createPeriod(
  span: Span,
  given: readonly (readonly [sum: CallSum, shares: readonly Share[]])[],
): Period {
  const partitions = new Set<Partition>()
  const rows = given.map(([sum, shares]): Row => {
    const row: Row = { sum, shares, exact: undefined, diverges: false }
    for (const { partition } of shares) {
      partition.rows.push(row)
      partitions.add(partition)
    }
    return row
  })
  const period = { span, rows, partitions: [...partitions] }
  for (const partition of partitions) beginPeriod(partition, span)
  for (const partition of partitions) findExact(partition, span)
  spread(period)
  return period
}

/**
 * If nothing but a window of a grid can deny calls, it allows the first ones: it is known how many of a period
 * that are, in any order.
 */
function findExact(partition: Partition, { start, end }: Span): void {
  const { rule, meter, rows, window, counts } = partition
  const inOneWindow = meter?.windowOf !== undefined && meter.windowOf(start).end >= end
  const isAlone = rows.every(({ shares }) =>
    shares.every(
      (share) => share.partition === partition || !SIDES.some((side) => canDeny(share, side)),
    ),
  )
  window.isClean &&=
    inOneWindow && rule.unit === 'request' && isAlone && counts.every((own) => !own.isUncertain)
  if (!window.isClean || counts.every(({ denied }) => denied === 0)) return
  for (const row of rows) row.exact = partition
}

/** A difference in one partition makes a difference in every partition of the calls that it touches. */
function spread({ rows }: Period): void {
  for (let isDone = false; !isDone;) {
    isDone = true
    for (const row of rows) {
      if (row.diverges || !mayDiverge(row)) continue
      row.diverges = true
      for (const { partition } of row.shares) {
        if (!partition.hasDiverged) isDone = false
        partition.hasDiverged = true
      }
    }
  }
}

function mayDiverge({ exact, shares }: Row): boolean {
  if (exact) return newlyDeniedIn(exact, 0, 1) > 0 || newlyDeniedIn(exact, 1, 0) > 0
  return shares.some(
    (share) =>
      SIDES.some((side) => canDeny(share, side)) &&
      (share.partition.hasDiverged || !isSame(...share.limits)),
  )
}

/** Returns true if a policy may deny a call of a row. */
export const canDeny = ({ partition, limits }: Share, side: Side): boolean =>
  limits[side]?.enforced === true && partition.counts[side].denied > 0

/** Returns how many calls of a period `to` denies and `from` allows, if only this window can deny them. */
export function newlyDeniedIn({ counts, window, calls }: Partition, from: Side, to: Side): number {
  const [before = 0, after = 0] = [from, to].map((side) => {
    const { limit } = counts[side]
    return limit?.enforced ? limit.limit : Infinity
  })
  return Math.max(0, Math.min(window.calls + calls, before) - Math.max(window.calls, after))
}

/** Returns the most calls of some rows that a set can deny. */
export function mostDenied(
  rows: readonly Row[],
  side: Side,
): { calls: number; by: Map<string, number> } {
  const by = new Map<string, number>()
  for (const [partition, calls] of callsByPartition(rows, side)) {
    const { denied } = partition.counts[side]
    const { name } = partition.rule
    by.set(name, (by.get(name) ?? 0) + Math.min(calls, denied))
  }
  const sum = [...by.values()].reduce((one, other) => one + other, 0)
  return { calls: Math.min(callsOf(rows), sum), by }
}

/** Returns the most calls of some rows that a set can allow. */
export function mostAllowed(rows: readonly Row[], side: Side, span: Span): number {
  const all = callsOf(rows)
  const denied = new Map<string, number>()
  for (const [{ rule, meter, counts }, calls] of callsByPartition(rows, side)) {
    const { limit, isUncertain } = counts[side]
    if (rule.unit !== 'request' || !meter || !limit || isUncertain) continue
    const allowed = meter.most(span, limit.limit, limit.burst)
    denied.set(rule.name, (denied.get(rule.name) ?? 0) + Math.max(0, calls - allowed))
  }
  return Math.floor(all - Math.max(0, ...denied.values()))
}

function callsByPartition(rows: readonly Row[], side: Side): Map<Partition, number> {
  const calls = new Map<Partition, number>()
  for (const row of rows) {
    for (const { partition } of row.shares) {
      if (!limitOf(row, partition, side)?.enforced) continue
      calls.set(partition, (calls.get(partition) ?? 0) + row.sum.calls)
    }
  }
  return calls
}

export const callsOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, row) => sum + row.sum.calls, 0)

export const dollarsOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, row) => sum + Math.max(0, row.sum.units['usd'] ?? 0), 0)
