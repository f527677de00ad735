import type { PolicyRule, PolicyState } from '@sluice/core'
import type { CallSum } from '../call.ts'
import type { Meter, Span } from './meter.ts'

/** One of two sets of limits that are compared. */
export type Side = 0 | 1

export const SIDES: readonly Side[] = [0, 1]

/** The limit of a policy for a row. `undefined` if it takes no part. */
export type RowLimit = Pick<PolicyState, 'limit' | 'burst' | 'enforced'> | undefined

/** A row in one partition of a policy. */
export interface Share {
  readonly partition: Partition
  readonly limits: readonly [RowLimit, RowLimit]
}

/** A row in its period. */
export interface Row {
  readonly sum: CallSum
  readonly shares: readonly Share[]
  /** The only partition that can deny its calls, if it is known which of them. */
  exact: Partition | undefined
  /** True if the two sets may decide differently about its calls. */
  diverges: boolean
}

/** A partition as one set of limits counts it. */
interface Count {
  limit: RowLimit
  /** The content of a bucket at the end of its last period, at most. */
  level: number
  levelAt: number
  /** True while nothing is known of the units in use, as after a change of the limit. */
  isUncertain: boolean
  /** The units in use at the start of the period, at most. */
  carry: number
  /** The calls of the period that may not fit, at most. */
  denied: number
}

/** A partition of a policy. */
export interface Partition {
  readonly rule: PolicyRule
  readonly meter: Meter | undefined
  /** The tenant of all its calls. `undefined` if tenants share it. */
  readonly tenant: string | undefined
  readonly counts: readonly [Count, Count]
  /** What was asked for in earlier periods and may still count. */
  asked: { readonly end: number; readonly units: number }[]
  /** True if the sets may count different units in it. */
  hasDiverged: boolean
  /** The calls of the window of a grid before this period, while no other policy could deny one of them. */
  window: { readonly start: number; calls: number; isClean: boolean }
  /** The rows of the period. */
  rows: Row[]
  calls: number
  units: number
}

/** Creates a partition that has counted nothing. */
export const createPartition = (
  rule: PolicyRule,
  meter: Meter | undefined,
  tenant: string | undefined,
): Partition => ({
  rule,
  meter,
  tenant,
  counts: [createCount(), createCount()],
  asked: [],
  hasDiverged: false,
  window: { start: -1, calls: 0, isClean: true },
  rows: [],
  calls: 0,
  units: 0,
})

const createCount = (): Count => ({
  limit: undefined,
  level: 0,
  levelAt: 0,
  isUncertain: false,
  carry: 0,
  denied: 0,
})

/** Returns the units that a policy counts of a row. */
const unitsOf = ({ calls, units }: CallSum, unit: string): number =>
  unit === 'request' ? calls : Math.max(0, units[unit] ?? 0)

/** Begins a period with its rows: bounds the units in use, and the calls that may not fit. */
export function beginPeriod(partition: Partition, { start }: Span): void {
  const { rule, meter, rows, counts } = partition
  partition.calls = rows.reduce((sum, row) => sum + row.sum.calls, 0)
  partition.units = rows.reduce((sum, row) => sum + unitsOf(row.sum, rule.unit), 0)
  const since = meter?.since(start) ?? 0
  partition.asked = partition.asked.filter(({ end }) => end > since)
  const asked = partition.asked.reduce((sum, { units }) => sum + units, 0)
  for (const side of SIDES) {
    const limits = rows.map((row) => limitOf(row, partition, side))
    count(partition, counts[side], limits, start, asked)
  }
  if (counts.every(({ carry }) => carry === 0)) partition.hasDiverged = false
  const windowStart = meter?.windowOf?.(start).start ?? -1
  if (partition.window.start !== windowStart) {
    // Of a period that overlaps the start of a window, it is not known which calls are in it.
    partition.window = { start: windowStart, calls: 0, isClean: partition.asked.length === 0 }
  }
}

export const limitOf = ({ shares }: Row, partition: Partition, side: Side): RowLimit =>
  shares.find((share) => share.partition === partition)?.limits[side]

function count(
  { rule, meter, calls, units }: Partition,
  own: Count,
  limits: readonly RowLimit[],
  start: number,
  asked: number,
): void {
  const [limit] = limits
  const left = meter?.bucket ? leaked(own, meter.bucket, start) : asked
  const isSteady = limits.every((other) => isSame(limit, other)) && isSame(limit, own.limit)
  // A bucket that was full under one limit is as full under another one.
  const isKnown =
    meter !== undefined &&
    (left === 0 ? limits.every((one) => isSame(limit, one)) : isSteady && !own.isUncertain)
  own.isUncertain = !isKnown
  own.limit = limit
  const isEnforced = limits.some((one) => one?.enforced)
  const most = limit?.enforced ? (meter?.bucket ? limit.burst : limit.limit) : Infinity
  own.carry = isKnown ? Math.min(left, most) : Infinity
  own.denied = 0
  if (!isEnforced || units === 0) return
  const capacity = isKnown && limit && meter ? meter.capacity(limit.limit, limit.burst) : 0
  if (isKnown && own.carry + units <= capacity) return
  // The first call that does not fit finds the capacity in use: this many were allowed before it.
  const allowed = isKnown ? Math.max(0, Math.floor(capacity - 1 - own.carry) + 1) : 0
  own.denied = rule.unit === 'request' ? Math.max(0, calls - allowed) : calls
}

function leaked(
  { level, levelAt, limit }: Count,
  { windowMs, quantumMs }: { windowMs: number; quantumMs: number },
  at: number,
): number {
  const ms = Math.max(0, at - levelAt - quantumMs)
  return Math.max(0, level - (ms * (limit?.limit ?? 0)) / windowMs)
}

export const isSame = (one: RowLimit, other: RowLimit): boolean =>
  one?.limit === other?.limit && one?.burst === other?.burst && one?.enforced === other?.enforced

/** Ends a period: what it asked for may count in the next ones. */
export function endPeriod(partition: Partition, { start, end }: Span): void {
  const { meter, counts, units, calls } = partition
  if (meter?.bucket) {
    for (const own of counts) {
      const left = leaked({ ...own, level: own.carry, levelAt: start }, meter.bucket, end)
      const most = own.limit?.enforced ? own.limit.burst : Infinity
      own.level = own.isUncertain ? Infinity : Math.min(most, left + units)
      own.levelAt = end
    }
  } else if (meter && units > 0) {
    partition.asked.push({ end, units })
  }
  partition.window.calls += calls
  partition.rows = []
}
