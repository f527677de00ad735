import type { PlanLimits } from './plans.ts'
import { ConfigError } from '../errors.ts'
import {
  assertLimit,
  MAX_UNITS,
  assertPositiveInteger,
  type Units,
} from '../internal/validation.ts'

export type { Units } from '../internal/validation.ts'

/** The names of limits of plans that are not known. */
// eslint-disable-next-line typescript/no-explicit-any -- names are taken in, so that only `any` fits each of them
export type AnyLimitName = any

/** Facts that a limit may depend on. */
export interface LimitContext<Name extends string = string> {
  /** The limits of the subject's plan. Empty when the limiter has no plans. */
  readonly plan: PlanLimits<Name>
  /** The route of the subject, if it has one. */
  readonly route: string | undefined
  /** The model of the subject, if it has one. */
  readonly model: string | undefined
}

/**
 * The units a policy allows per window: a whole number from 0 (which allows nothing) to 10^12,
 * `'unlimited'`, or a function of plan, route and model. A function is tried against every plan at
 * construction, so a misspelt limit is found there. `'configured'` waits for one that is configured at
 * run time; until then nothing is counted.
 */
export type Limit<Name extends string = string> =
  Units | 'configured' | ((context: LimitContext<Name>) => Units | undefined)

/**
 * The most units that a bucket holds at once: a whole number from 1 to 10^12, `'limit'` for as many as
 * its limit, or a function as in `Limit`. A function may return 0, which allows nothing, for a plan
 * without the feature.
 */
export type Burst<Name extends string = string> =
  number | 'limit' | ((context: LimitContext<Name>) => Units | 'limit' | undefined)

/** The parts of a policy that say how much it allows. */
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
  readonly limit?: Units | undefined
  readonly burst?: number | undefined
}

/** Returns `limit` if it is a `Limit`, else throws. */
export function assertLimitOption(option: string, limit: unknown): Limit {
  if (typeof limit === 'function') return limit as Limit
  return limit === 'configured' ? limit : assertLimit(option, limit)
}

/** Returns `burst` if it is a `Burst`, else throws. */
export function assertBurst(option: string, burst: unknown): Burst {
  if (burst === 'limit') return burst
  return typeof burst === 'function' ? (burst as Burst) : assertPositiveInteger(option, burst)
}

/**
 * Returns the units that a policy allows.
 *
 * @throws ConfigError When its limit or burst is no usable number.
 */
export function resolveLimits(
  policy: Limited,
  context: LimitContext,
  settings?: LimitSettings,
  planName?: string,
): Allowance {
  const { limit: own, burst: ownBurst, maxUnits } = policy
  const limit = settings?.limit ?? (typeof own === 'function' ? own(context) : own)
  const option = (name: string): string =>
    `policies.${policy.name}.${name}${planName === undefined ? '' : ` for plan "${planName}"`}`
  let burst: number | 'limit' = 'limit'
  if (ownBurst !== undefined) {
    const found = settings?.burst ?? (typeof ownBurst === 'function' ? ownBurst(context) : ownBurst)
    // Tried even where there is no limit, as one may be configured.
    if (found !== 'limit' && found !== 'unlimited')
      burst = assertCountable(() => option('burst'), found, maxUnits)
  }
  // A function or a setting that says so would lift the limit where no configuration is read.
  if (limit === 'configured' && limit === own) return 'unconfigured'
  if (limit === 'unlimited') return limit
  const units = assertCountable(() => option('limit'), limit, maxUnits)
  // A bucket that nothing flows into lets nothing out.
  return { limit: units, burst: burst === 'limit' || units === 0 ? units : burst }
}

/** Returns `units` if an algorithm can count that many, else throws. */
export function assertCountable(option: () => string, units: unknown, maxUnits: number): number {
  if (typeof units === 'number' && units >= 0 && units <= maxUnits && Number.isInteger(units)) {
    return units
  }
  if (typeof units !== 'number' || !(units > maxUnits && units <= MAX_UNITS)) {
    assertLimit(option(), units)
  }
  const message = `must be at most ${maxUnits}, the most that is counted exactly with this window`
  throw new ConfigError('invalid_option', option(), message)
}
