import type { PolicyRule } from '@sluice/core'
import type { CallSum } from '../call.ts'
import type { Meter, Span } from './meter.ts'
import {
  isSameLimit,
  standingAtEnd,
  standingAtStart,
  UNUSED,
  type RowLimit,
  type Standing,
} from './standing.ts'

/** One of two sets of limits that are compared. */
export type Side = 0 | 1

const SIDES: readonly Side[] = [0, 1]

/** A row of a usage export, in the partitions that count it. */
export interface Row {
  readonly sum: CallSum
  readonly shares: readonly Share[]
}

/** A row in one partition of a policy. */
export interface Share {
  readonly partition: Partition
  readonly limits: readonly [RowLimit, RowLimit]
}

/**
 * The calls that one partition of a policy counts, period by period, under two sets of limits.
 *
 * The units in use are bounded from above: each unit that earlier periods asked for counts until no order of their
 * calls lets it count (a window has passed, a bucket has leaked it), and no enforced limit holds more than itself.
 * So no call is denied in a period whose units fit beside them. Else a call that is denied finds less room than it
 * needs, so of calls that cost one unit each, as many as there was room for were allowed before it.
 */
export class Partition {
  readonly rule: PolicyRule
  readonly meter: Meter | undefined
  /** The tenant of all its calls. `undefined` if tenants share it. */
  readonly tenant: string | undefined
  /** The rows of the period. */
  rows: readonly Row[] = []
  #calls = 0
  #units = 0
  #standings: readonly Standing[] = [UNUSED, UNUSED]
  #earlier: { readonly end: number; readonly units: number }[] = []
  #hasDiverged = false
  /** The calls of the window of a grid before this period, while no other policy could deny one of them. */
  #window = { start: -1, calls: 0, isClean: true }

  constructor(rule: PolicyRule, meter: Meter | undefined, tenant: string | undefined) {
    this.rule = rule
    this.meter = meter
    this.tenant = tenant
  }

  begin(rows: readonly Row[], { start }: Span): void {
    const { rule, meter } = this
    this.rows = rows
    this.#calls = callsOf(rows)
    this.#units = sumOf(rows, (sum) => unitsOf(sum, rule))
    const since = meter?.since(start) ?? 0
    this.#earlier = this.#earlier.filter(({ end }) => end > since)
    const earlierUnits = this.#earlier.reduce((sum, { units }) => sum + units, 0)
    const demand = { start, calls: this.#calls, units: this.#units, earlierUnits }
    this.#standings = SIDES.map((side) => {
      const limits = rows.map((row) => limitOf(row, this, side))
      return standingAtStart(this.standing(side), this, limits, demand)
    })
    if (this.#standings.every(({ used }) => used === 0)) this.#hasDiverged = false
    const windowStart = meter?.windowOf?.(start).start ?? -1
    if (this.#window.start !== windowStart) {
      // Of a period that overlaps the start of a window, it is not known which calls are in it.
      this.#window = { start: windowStart, calls: 0, isClean: this.#earlier.length === 0 }
    }
  }

  end({ end }: Span): void {
    const { meter } = this
    if (meter && !meter.bucket && this.#units > 0) {
      this.#earlier.push({ end, units: this.#units })
    }
    this.#standings = this.#standings.map((one) => standingAtEnd(one, meter, this.#units, end))
    this.#window.calls += this.#calls
  }

  standing(side: Side): Standing {
    return this.#standings[side] ?? UNUSED
  }

  /** True if the sets may count different units in it. */
  get hasDiverged(): boolean {
    return this.#hasDiverged
  }

  diverge(): void {
    this.#hasDiverged = true
  }

  /**
   * Returns true if it is known how many calls of the period it denies, in any order: nothing but a window of a grid
   * can deny them, and the window allows the first ones.
   */
  isExact({ start, end }: Span): boolean {
    const windowEnd = this.meter?.windowOf?.(start).end ?? -1
    const isAlone = this.rows.every(({ shares }) =>
      shares.every(
        (share) => share.partition === this || !SIDES.some((side) => canDeny(share, side)),
      ),
    )
    this.#window.isClean &&=
      windowEnd >= end &&
      this.rule.unit === 'request' &&
      isAlone &&
      this.#standings.every(({ isUncertain }) => !isUncertain)
    return this.#window.isClean && this.#standings.some(({ denied }) => denied > 0)
  }

  /** Returns how many calls of an exact period `to` denies and `from` allows. */
  newlyDenied(from: Side, to: Side): number {
    const [before = 0, after = 0] = [from, to].map((side) => {
      const { limit } = this.standing(side)
      return limit?.enforced ? limit.limit : Infinity
    })
    const { calls } = this.#window
    return Math.max(0, Math.min(calls + this.#calls, before) - Math.max(calls, after))
  }
}

export const limitOf = ({ shares }: Row, partition: Partition, side: Side): RowLimit =>
  shares.find((share) => share.partition === partition)?.limits[side]

/** Returns true if a policy may deny a call of a row. */
export const canDeny = ({ partition, limits }: Share, side: Side): boolean =>
  limits[side]?.enforced === true && partition.standing(side).denied > 0

/** Returns true if two sets may decide differently by a policy about a call of a row. */
export const mayDiffer = (share: Share): boolean =>
  SIDES.some((side) => canDeny(share, side)) &&
  (share.partition.hasDiverged || !isSameLimit(...share.limits))

/** Returns the units that a policy counts of a row. */
export const unitsOf = ({ calls, units }: CallSum, { unit }: PolicyRule): number =>
  unit === 'request' ? calls : Math.max(0, units[unit] ?? 0)

export const callsOf = (rows: readonly Row[]): number => sumOf(rows, ({ calls }) => calls)

export const dollarsOf = (rows: readonly Row[]): number =>
  sumOf(rows, ({ units }) => Math.max(0, units['usd'] ?? 0))

const sumOf = (rows: readonly Row[], valueOf: (sum: CallSum) => number): number =>
  rows.reduce((total, { sum }) => total + valueOf(sum), 0)
