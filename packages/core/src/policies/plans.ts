import { ConfigError } from '../errors.ts'
import { assertLimit, assertKnownOptions, assertName, type Units } from '../internal/validation.ts'

/** The limits of one plan by name: units, of which 0 allows nothing, or `'unlimited'`. */
export type PlanLimits<Name extends string = string> = { readonly [Limit in Name]: Units }

/** A set of plans, made by `definePlans`. */
export interface Plans<Plan extends string = string, Name extends string = string> {
  /** The plan names, in the order they were declared. */
  readonly names: readonly Plan[]
  /** The plan that applies to a subject without a plan, or with one that is not defined. */
  readonly defaultPlan: Plan
  /** The limits of a plan, or `undefined` for a name that is no plan. */
  get(name: string): PlanLimits<Name> | undefined
}

/**
 * Names the limits of each plan. Every plan must have the same limits. A subject without a plan, or
 * with a plan that is not defined here, gets the default plan: never no limit, never a limit of 0.
 *
 * @param plans Limits by plan name, each a whole number from 0 (which allows nothing) to
 * 10^12, or `'unlimited'`.
 * @param options.defaultPlan The plan for subjects without one. @default the first plan
 * @throws ConfigError `invalid_option` when a limit is missing from a plan or is no such number,
 * `unknown_option` when a plan has one that the first plan has not.
 * @example
 * const plans = definePlans({
 *   starter: { rpm: 20, daily: 500 },
 *   growth: { rpm: 60, daily: 2_000 },
 *   professional: { rpm: 150, daily: 8_000 },
 *   enterprise: { rpm: 400, daily: 30_000 },
 * })
 */
export function definePlans<Plan extends string, Name extends string>(
  plans: { readonly [One in Plan]: PlanLimits<Name> },
  options: { readonly defaultPlan?: NoInfer<Plan> } = {},
): Plans<Plan, Name> {
  assertKnownOptions('definePlans options', options, ['defaultPlan'])
  const names = Object.keys(plans ?? {}) as Plan[]
  const [first] = names
  if (first === undefined) {
    throw new ConfigError('invalid_option', 'definePlans', 'must define at least one plan')
  }
  const limitNames = Object.keys(plans[first] ?? {}) as Name[]
  // A Map, so that "constructor" and "__proto__" are unknown plans, not inherited properties.
  const byName = new Map<string, PlanLimits<Name>>()
  for (const name of names) {
    assertName(`definePlans.${name}`, name)
    assertKnownOptions(`definePlans.${name}`, plans[name], limitNames)
    const limits = Object.create(null) as Record<Name, Units>
    for (const limit of limitNames) {
      limits[limit] = assertLimit(`definePlans.${name}.${limit}`, plans[name][limit])
    }
    byName.set(name, Object.freeze(limits))
  }
  const defaultPlan = options.defaultPlan ?? first
  if (!byName.has(defaultPlan)) {
    throw new ConfigError('invalid_option', 'definePlans.defaultPlan', 'must be a defined plan')
  }
  return Object.freeze({ names, defaultPlan, get: (name: string) => byName.get(name) })
}
