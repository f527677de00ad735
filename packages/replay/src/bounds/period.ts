import { entryOf } from '../groups.ts'
import type { Span } from './meter.ts'
import { canDeny, callsOf, limitOf, mayDiffer } from './partition.ts'
import type { Partition, Row, Side } from './partition.ts'

/**
 * The rows of a period, and those about which two sets of limits may decide differently.
 *
 * Two sets decide alike about a call if each policy that can deny it has the same limit and the same units in use in
 * both. They have the same units in use in a partition until they decide differently about one of its calls. So
 * a difference spreads from the rows whose limits differ to all partitions that count them, to the rows of those, and
 * so on: by induction over the calls, in any order, the rows that it does not reach are decided alike.
 */
export class Period {
  readonly span: Span
  readonly rows: readonly Row[]
  readonly partitions: readonly Partition[]
  readonly #exact = new Map<Row, Partition>()
  readonly #diverging = new Set<Row>()

  constructor(span: Span, rows: readonly Row[]) {
    this.span = span
    this.rows = rows
    const rowsOf = new Map<Partition, Row[]>()
    for (const row of rows) {
      for (const { partition } of row.shares) {
        entryOf(rowsOf, partition, () => []).push(row)
      }
    }
    this.partitions = [...rowsOf.keys()]
    for (const [partition, ofPartition] of rowsOf) partition.begin(ofPartition, span)
    for (const partition of this.partitions) {
      if (!partition.isExact(span)) continue
      for (const row of partition.rows) this.#exact.set(row, partition)
    }
    while (this.#spread());
  }

  end(): void {
    for (const partition of this.partitions) partition.end(this.span)
  }

  /** Returns true if the sets may decide differently about calls of a row. */
  diverges(row: Row): boolean {
    return this.#diverging.has(row)
  }

  /** Returns the only partition that can deny calls of a row, if it is known how many of them. */
  exactOf(row: Row): Partition | undefined {
    return this.#exact.get(row)
  }

  /** Spreads differences by one step. Returns true if a partition was reached by them. */
  #spread(): boolean {
    let hasSpread = false
    for (const row of this.rows) {
      if (this.#diverging.has(row) || !this.#mayDiverge(row)) continue
      this.#diverging.add(row)
      for (const { partition } of row.shares) {
        hasSpread ||= !partition.hasDiverged
        partition.diverge()
      }
    }
    return hasSpread
  }

  #mayDiverge(row: Row): boolean {
    const exact = this.#exact.get(row)
    if (exact) return exact.newlyDenied(0, 1) > 0 || exact.newlyDenied(1, 0) > 0
    return row.shares.some(mayDiffer)
  }
}

/** Returns those of some rows of which a set may deny calls, and the most calls of them that it can deny. */
export function mostDenied(
  rows: readonly Row[],
  side: Side,
): { readonly rows: readonly Row[]; readonly calls: number; readonly by: Map<string, number> } {
  const deniable = rows.filter(({ shares }) => shares.some((share) => canDeny(share, side)))
  const by = new Map<string, number>()
  for (const [partition, calls] of callsByPartition(deniable, side)) {
    const { name } = partition.rule
    by.set(name, (by.get(name) ?? 0) + Math.min(calls, partition.standing(side).denied))
  }
  const sum = [...by.values()].reduce((one, other) => one + other, 0)
  return { rows: deniable, calls: Math.min(callsOf(deniable), sum), by }
}

/** Returns the most calls of some rows that a set can allow. */
export function mostAllowed(rows: readonly Row[], side: Side, span: Span): number {
  const denied = new Map<string, number>()
  for (const [partition, calls] of callsByPartition(rows, side)) {
    const { rule, meter } = partition
    const { limit, isUncertain } = partition.standing(side)
    if (rule.unit !== 'request' || !meter || !limit || isUncertain) continue
    const allowed = meter.most(span, limit.limit, limit.burst)
    denied.set(rule.name, (denied.get(rule.name) ?? 0) + Math.max(0, calls - allowed))
  }
  return Math.floor(callsOf(rows) - Math.max(0, ...denied.values()))
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
