import type { PlanLimits } from './plans/plans.ts'
import { ConfigError } from './errors.ts'
import { aLimit, MAX_UNITS, positiveInteger } from './validate.ts'

/** What a limit may depend on. */
export interface LimitContext {
  /** The limits of the subject's plan. Empty when the limiter has no plans. */
  readonly plan: PlanLimits
  /** The route of the subject, if it has one. */
  readonly route: string | undefined
  /** The model of the subject, if it has one. */
  readonly model: string | undefined
}

/**
 * The units a policy allows per window: a whole number up to 10^12, or a function of plan, route and
 * model. 0 and less mean no limit. A function is tried against every plan at construction, so a
 * misspelt limit is found there. `'configured'` means none until one is configured at run time.
 */
export type Limit = number | 'configured' | ((context: LimitContext) => number | undefined)

/**
 * The most units that a bucket holds at once: a whole number from 1 to 10^12, `'limit'` for as many as
 * its limit, or a function as in `Limit`. Where there is no limit, any 0 or less will do.
 */
export type Burst = number | 'limit' | ((context: LimitContext) => number | 'limit' | undefined)

/** What is asked of a policy's limits to resolve them. */
interface Limited {
  readonly name: string
  readonly limit: Limit
  /** `undefined` when it is no bucket. */
  readonly burst: Burst | undefined
  /** The most units that its algorithm can count. */
  readonly maxUnits: number
}

/** The units that a policy allows in one case, or why it allows any number. */
export type Allowance =
  { readonly limit: number; readonly burst: number } | 'unlimited' | 'unconfigured'

/** Limits set at run time, which take precedence. */
export interface LimitSettings {
  readonly limit?: number | undefined
  readonly burst?: number | undefined
}

/** Returns `limit` if it is a `Limit`, else throws. */
export function validLimit(option: string, limit: unknown): Limit {
  if (typeof limit === 'function') return limit as Limit
  return limit === 'configured' ? limit : aLimit(option, limit)
}

/** Returns `burst` if it is a `Burst`, else throws. */
export function validBurst(option: string, burst: unknown): Burst {
  if (burst === 'limit') return burst
  return typeof burst === 'function' ? (burst as Burst) : positiveInteger(option, burst)
}

/** The units that a policy allows. @throws ConfigError When its limit or burst is no usable number. */
export function allowanceOf(
  policy: Limited,
  context: LimitContext,
  settings: LimitSettings = {},
  planName?: string,
): Allowance {
  const of = planName === undefined ? '' : ` for plan "${planName}"`
  const option = `policies.${policy.name}`
  const own = typeof policy.limit === 'function' ? policy.limit(context) : policy.limit
  const found = settings.limit ?? own
  // Tried even where there is no limit, as one may be configured.
  const burst =
    policy.burst === undefined
      ? 'limit'
      : (settings.burst ?? burstOf(policy, context, own, `${option}.burst${of}`))
  if (found === 'configured') return 'unconfigured'
  const limit = aLimit(`${option}.limit${of}`, found)
  if (limit <= 0) return 'unlimited'
  countable(`${option}.limit${of}`, limit, policy.maxUnits)
  return { limit, burst: burst === 'limit' ? limit : burst }
}

/** The burst that a policy has by itself, with a limit of `own`. */
function burstOf(
  { burst, maxUnits }: Limited,
  context: LimitContext,
  own: unknown,
  option: string,
): number | 'limit' {
  const found = typeof burst === 'function' ? burst(context) : burst
  const hasNone = typeof own === 'number' && own <= 0 && !(typeof found === 'number' && found > 0)
  if (found === 'limit' || hasNone) return 'limit'
  return countable(option, positiveInteger(option, found), maxUnits)
}

/** Returns `units` if an algorithm can count that many, else throws. */
export function countable(option: string, units: number, maxUnits: number): number {
  if (units <= maxUnits) return units
  const message =
    maxUnits === MAX_UNITS
      ? `must be at most ${MAX_UNITS}`
      : `must be at most ${maxUnits}, the most that is counted exactly with this window`
  throw new ConfigError('invalid_option', option, message)
}
