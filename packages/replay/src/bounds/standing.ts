import type { PolicyRule, PolicyState } from '@sluice/core'
import type { Meter } from './meter.ts'

/** The limit of a policy for a row. `undefined` if it takes no part. */
export type RowLimit = Pick<PolicyState, 'limit' | 'burst' | 'enforced'> | undefined

export const isSameLimit = (one: RowLimit, other: RowLimit): boolean =>
  one?.limit === other?.limit && one?.burst === other?.burst && one?.enforced === other?.enforced

/** The use of a partition as one set of limits counts it. */
export interface Standing {
  readonly limit: RowLimit
  /** The most units that may be in use at `at`. */
  readonly used: number
  readonly at: number
  /** True while nothing is known of the units in use, as after a change of the limit. */
  readonly isUncertain: boolean
  /** The most calls of the period that may not fit. */
  readonly denied: number
}

export const UNUSED: Standing = {
  limit: undefined,
  used: 0,
  at: 0,
  isUncertain: false,
  denied: 0,
}

/** The use that a period asks for, and the units of earlier periods that may still count. */
interface Demand {
  readonly start: number
  readonly calls: number
  readonly units: number
  readonly earlierUnits: number
}

/** Returns the standing at the start of a period, with the limits of its rows. */
export function standingAtStart(
  before: Standing,
  { rule, meter }: { readonly rule: PolicyRule; readonly meter: Meter | undefined },
  limits: readonly RowLimit[],
  { start, calls, units, earlierUnits }: Demand,
): Standing {
  const [limit] = limits
  const left = meter?.bucket ? leaked(before, meter.bucket, start) : earlierUnits
  // Where nothing is in use, a new limit begins as if it had always held.
  const isKnown =
    meter !== undefined &&
    limits.every((one) => isSameLimit(limit, one)) &&
    (left === 0 || (isSameLimit(limit, before.limit) && !before.isUncertain))
  const used = isKnown ? Math.min(left, capOf(limit, meter)) : Infinity
  const capacity = isKnown && limit ? meter.capacity(limit.limit, limit.burst) : 0
  // The first call that does not fit finds the capacity in use: this many were allowed before it.
  const allowed = rule.unit === 'request' ? Math.max(0, Math.floor(capacity - 1 - used) + 1) : 0
  const allFit = units === 0 || used + units <= capacity || !limits.some((one) => one?.enforced)
  const denied = allFit ? 0 : Math.max(0, calls - allowed)
  return { limit, used, at: start, isUncertain: !isKnown, denied }
}

/** Returns the standing at the end of a period that asked for some units. */
export function standingAtEnd(
  standing: Standing,
  meter: Meter | undefined,
  units: number,
  end: number,
): Standing {
  if (!meter?.bucket) return standing
  const used = leaked(standing, meter.bucket, end) + units
  const most = standing.isUncertain ? Infinity : capOf(standing.limit, meter)
  return { ...standing, used: Math.min(used, most), at: end }
}

/** Returns the most units that an enforced limit lets be in use. */
function capOf(limit: RowLimit, meter: Meter): number {
  if (!limit?.enforced) return Infinity
  return meter.bucket ? limit.burst : limit.limit
}

function leaked({ used, at, limit }: Standing, bucket: Meter['bucket'] & {}, now: number): number {
  const ms = Math.max(0, now - at - bucket.quantumMs)
  return Math.max(0, used - (ms * (limit?.limit ?? 0)) / bucket.windowMs)
}
