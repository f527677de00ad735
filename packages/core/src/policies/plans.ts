import {
  assertKnownOptions,
  assertLimit,
  assertName,
  invalidOption,
  type Units,
} from '../internal/validation.ts'

/** The limits of one plan, by name: a number of units (0 allows nothing) or `'unlimited'`. */
export type PlanLimits<Name extends string = string> = { readonly [Limit in Name]: Units }

/** A set of plans, created by `definePlans`. */
export interface Plans<Plan extends string = string, Name extends string = string> {
  /** The names of the plans, in the order of their definition. */
  readonly names: readonly Plan[]
  /** The plan of a subject without a plan, or with one that is not defined. */
  readonly defaultPlan: Plan
  /** True if the default plan is the first only because no option names it. */
  readonly isDefaultImplied: boolean
  /** Returns the limits of a plan, or `undefined` if no plan has this name. */
  get(name: string): PlanLimits<Name> | undefined
}

/**
 * Defines plans and their limits. Every plan must have the same limits. A subject without a plan, or
 * with one that is not defined here, gets the default plan.
 *
 * @param plans The limits of each plan, by name: a whole number from 0 (which allows nothing) to 10^14,
 * or `'unlimited'`.
 * @param options.defaultPlan The plan for subjects without one. @default the first plan
 * @throws ConfigError `invalid_option` when a plan lacks a limit or a limit is invalid,
 * `unknown_option` when a plan has a limit that the first plan lacks.
 * @example
 * const plans = definePlans({
 *   starter: { rpm: 20, daily: 500 },
 *   growth: { rpm: 60, daily: 2_000 },
 *   professional: { rpm: 150, daily: 8_000 },
 *   enterprise: { rpm: 400, daily: 30_000 },
 * })
 */
export function definePlans<Plan extends string, Name extends string>(
  plans: { readonly [PlanName in Plan]: PlanLimits<Name> },
  options: { readonly defaultPlan?: NoInfer<Plan> } = {},
): Plans<Plan, Name> {
  assertKnownOptions('definePlans options', options, ['defaultPlan'])
  const names = Object.keys(plans ?? {}) as Plan[]
  const [first] = names
  if (first === undefined) {
    throw invalidOption('definePlans', 'must define at least one plan', plans)
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
    throw invalidOption('definePlans.defaultPlan', 'must be the name of a plan', defaultPlan)
  }
  return Object.freeze({
    names,
    defaultPlan,
    isDefaultImplied: options.defaultPlan === undefined && names.length > 1,
    get: (name: string) => byName.get(name),
  })
}
