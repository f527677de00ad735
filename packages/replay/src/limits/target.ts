import type { DesiredEntry } from '@sluice/core/configuration'
import type { Call } from '../call.ts'

/** Where a limit comes from: a setting, or the code, which may have one for each plan. */
export interface LimitSource {
  readonly setting: DesiredEntry | undefined
  readonly plan: string | undefined
}

/** A limit to find: that of one setting or plan, or of calls that have the same limit today. */
export interface Target extends LimitSource {
  /** The limit today. */
  readonly current: number
  /** The limit that this reading of the log tries. */
  trial: number
  /** The largest limit that is known to be too low. */
  low: number
  /** The smallest limit that is known to suffice; `undefined` while none is known. */
  high: number | undefined
  /** The limit that was too low in this reading: the rest of it adds nothing. `undefined` if none was. */
  failedAt: number | undefined
  /** True if this reading raised the limit on its way. */
  wasRaised: boolean
  /** True if a call that must not be denied has this limit. */
  isUsed: boolean
  /** The last call that needed more than was tried. */
  heldBy: Call | undefined
  /** The distance to the next lower trial. It doubles while trials suffice. */
  step: number
}

/** Creates a target that begins with a limit of 0. */
export const createTarget = (source: LimitSource, current: number): Target => ({
  ...source,
  current,
  trial: 0,
  low: -1,
  high: 0,
  failedAt: undefined,
  wasRaised: false,
  isUsed: false,
  heldBy: undefined,
  step: 1,
})

/**
 * Ends a reading: learns from its trial, and chooses the next. Returns false if nothing is left to try.
 *
 * @param most The largest limit that the policy can have.
 * @param isShared True if tenants that may be denied use up the budget of others. Calls that a raised limit lets in
 * from the beginning may then deny others, so it is tried again.
 */
export function nextTrial(target: Target, most: number, isShared: boolean): boolean {
  const { failedAt, wasRaised } = target
  const trial = failedAt ?? target.trial
  target.failedAt = undefined
  target.wasRaised = false
  if (isShared && wasRaised && failedAt === undefined) return true
  if (failedAt !== undefined) {
    target.low = failedAt
    if (target.high !== undefined && target.high <= failedAt) target.high = undefined
  } else {
    if (trial !== target.high) target.step *= 2
    target.high = trial
  }
  const { low, high, step } = target
  if (high === undefined) {
    target.trial = Math.min(most, Math.max(1, trial * 2))
    return trial < most
  }
  // Most limits are as low as they can be after the first reading: the next lower trial shows it.
  target.trial = low < 0 ? Math.max(0, high - step) : Math.floor((low + high) / 2)
  if (high - low > 1 && target.trial < high) return true
  target.trial = high
  return false
}
