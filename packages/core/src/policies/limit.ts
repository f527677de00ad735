import type { PlanLimits } from './plans.ts'
import {
  assertLimit,
  assertPositiveInteger,
  invalidOption,
  isUnits,
  type Units,
} from '../internal/validation.ts'

export type { Units } from '../internal/validation.ts'

/** The name of any plan's limit, for types that do not know the plans. */
// eslint-disable-next-line typescript/no-explicit-any -- names are parameters, so that only `any` accepts each of them
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
 * The units that a policy allows per window: a whole number from 0 (which allows nothing) to 10^14,
 * `'unlimited'`, or a function of plan, route and model. A function is called for every plan at
 * construction, which finds a misspelt limit. `'configured'` counts nothing until a limit is configured
 * at run time.
 */
export type Limit<Name extends string = string> =
  Units | 'configured' | ((context: LimitContext<Name>) => Units | undefined)

/**
 * The most units that a bucket holds: a whole number from 1 to 10^14, `'limit'` for the same number as
 * its limit, or a function as in `Limit`. A function may also return 0, which allows nothing.
 */
export type Burst<Name extends string = string> =
  number | 'limit' | ((context: LimitContext<Name>) => Units | 'limit' | undefined)

/** The parts of a policy that determine its limit. */
interface LimitSource {
  readonly name: string
  readonly limit: Limit
  /** `undefined` unless the policy is a bucket. */
  readonly burst: Burst | undefined
  /** The most units that its algorithm can count. */
  readonly maxUnits: number
}

/** The units that a policy allows a request, or the reason for which it allows any number. */
export type Allowance =
  { readonly limit: number; readonly burst: number } | 'unlimited' | 'unconfigured'

/** A limit and burst set at run time, which take precedence. */
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
 * @param settings Take precedence over the policy's own limit and burst.
 * @param planName The plan to name in errors.
 * @throws ConfigError When the limit or burst is invalid.
 */
export function resolveLimits(
  policy: LimitSource,
  context: LimitContext,
  settings?: LimitSettings,
  planName?: string,
): Allowance {
  const { limit: policyLimit, burst: policyBurst, maxUnits } = policy
  const limit =
    settings?.limit ?? (typeof policyLimit === 'function' ? policyLimit(context) : policyLimit)
  const option = (name: string): string =>
    `policies.${policy.name}.${name}${planName === undefined ? '' : ` for plan "${planName}"`}`
  const plan = planName === undefined ? undefined : context.plan
  let burst: number | 'limit' = 'limit'
  if (policyBurst !== undefined) {
    const units =
      settings?.burst ?? (typeof policyBurst === 'function' ? policyBurst(context) : policyBurst)
    // Checked even if the policy is unlimited, because a limit may be configured later.
    if (units !== 'limit' && units !== 'unlimited') {
      burst = assertCountable(() => option('burst'), units, maxUnits, plan)
    }
  }
  // Accepted from the policy only: from a function or a setting it would lift the limit unnoticed.
  if (limit === 'configured' && limit === policyLimit) return 'unconfigured'
  if (limit === 'unlimited') return limit
  const units = assertCountable(() => option('limit'), limit, maxUnits, plan)
  // A limit of 0 allows nothing, whatever the burst.
  return { limit: units, burst: burst === 'limit' || units === 0 ? units : burst }
}

/**
 * Returns `units` if it is a limit of at most `maxUnits`, else throws.
 *
 * @param plan The limits that a function may take `units` from, to list in the error.
 */
export function assertCountable(
  option: () => string,
  units: unknown,
  maxUnits: number,
  plan?: PlanLimits,
): number {
  if (isUnits(units) && units <= maxUnits) return units
  assertLimit(option(), units, plan && `; the plan has: ${Object.keys(plan).join()}`)
  throw invalidOption(option(), `must be at most ${maxUnits} in this window`, units)
}
