import type { Clock } from './clock.ts'
import type { LimiterConfiguration, RuntimeConfiguration } from './configuration/configuration.ts'
import type { Hooks } from './hooks.ts'
import type { PlanResolver } from './plans/plan-resolver.ts'
import type { PlanSearch } from './plans/plan-search.ts'
import type { Plans } from './plans/plans.ts'
import type { Policy } from './policy.ts'
import type { Store } from './store.ts'
import type { Lent } from './watch.ts'
import { systemClock } from './clock.ts'
import { NO_PLAN, type Means } from './deciding.ts'
import { ConfigError } from './errors.ts'
import { DEFAULT_THRESHOLDS, safeHooks, validThresholds } from './hooks.ts'
import { allowanceOf } from './limit.ts'
import { validPolicies } from './policy.ts'
import { withFallback, type OnStoreError } from './stores/fallback.ts'
import { knownOptions, oneOf } from './validate.ts'

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** Where counts live: `upstash()` or `memory()`. */
  readonly store: Store
  /** The rules, in the order in which a denial names them. */
  readonly policies: readonly Policy[]
  /** The plans that limits may depend on, made by `definePlans`. @default none */
  readonly plans?: Plans
  /** Finds the plan of a subject that names none, made by `planResolver`. @default the default plan */
  readonly planOf?: PlanResolver
  /** What `configure` may change while the app runs, made by `runtimeConfiguration`. @default nothing */
  readonly configuration?: RuntimeConfiguration
  /**
   * What to do when the store fails or is too slow: `'local'` holds the request to the same policies
   * counted in this process's memory, `'allow'` lets it pass, `'deny'` refuses it. @default 'local'
   */
  readonly onStoreError?: OnStoreError
  /** Functions that are told of what happens. @default problems go to console.error */
  readonly hooks?: Hooks
  /** The shares of a limit of which the hook `threshold` tells. @default [0.8, 0.95] */
  readonly thresholds?: readonly number[]
  /** The time, for tests: it then decides even where the store has a clock. @default the store's clock */
  readonly clock?: Clock
}

/** The last moment that a `Date` holds, in epoch ms. */
const MAX_TIME = 8_640_000_000_000_000

const OPTIONS = [
  'store',
  'policies',
  'plans',
  'planOf',
  'configuration',
  'onStoreError',
  'clock',
  'hooks',
  'thresholds',
]

/** What a limiter with these options decides with. @throws ConfigError When they are malformed. */
export function meansOf(options: LimiterOptions): Means {
  knownOptions('createLimiter', options, OPTIONS)
  const policies = validPolicies(options.policies)
  const { plans, clock: given = systemClock } = options
  const mode = oneOf('onStoreError', options.onStoreError ?? 'local', ['allow', 'deny', 'local'])
  const primary = validStore(options.store)
  const store = withFallback(primary, mode)
  const clock = validClock(given)
  const hooks = safeHooks(options.hooks ?? {}, clock)
  const thresholds = validThresholds(options.thresholds ?? DEFAULT_THRESHOLDS)
  tryLimits(policies, plans)
  const lent = { store: primary, clock, problem: hooks.problem }
  const search = searchOf(options, lent)
  const clockIsInjected = options.clock !== undefined
  const configuration = configurationOf(options, lent, policies)
  return {
    policies,
    store,
    clock,
    clockIsInjected,
    plans,
    search,
    configuration,
    hooks,
    thresholds,
  }
}

/** A clock of whole milliseconds: against NaN, everything would fit. */
function validClock(clock: Clock): Clock {
  if (typeof clock !== 'function') {
    throw new ConfigError('invalid_option', 'clock', 'must be a function that returns epoch ms')
  }
  return () => {
    const now = Math.floor(clock())
    if (now >= 0 && now <= MAX_TIME) return now
    throw new ConfigError(
      'invalid_option',
      'clock',
      'must return milliseconds since the Unix epoch',
    )
  }
}

/** What finds plans, if the limiter is to. */
function searchOf({ planOf, plans }: LimiterOptions, lent: Lent): PlanSearch | undefined {
  if (planOf === undefined) return undefined
  if (typeof planOf?.connect !== 'function') {
    throw new ConfigError('invalid_option', 'planOf', 'must be made by planResolver')
  }
  if (plans) return planOf.connect(lent, plans)
  throw new ConfigError('invalid_option', 'plans', 'is missing, and planOf names them')
}

/** What changes settings, if the limiter is to. */
function configurationOf(
  { configuration }: LimiterOptions,
  lent: Lent,
  policies: readonly Policy[],
): LimiterConfiguration | undefined {
  if (configuration !== undefined && typeof configuration?.connect !== 'function') {
    throw new ConfigError('invalid_option', 'configuration', 'must be made by runtimeConfiguration')
  }
  for (const { name, limit } of policies) {
    if (limit !== 'configured' || configuration?.allows(name, 'limit')) continue
    const message = `must allow "limit" of policy "${name}", which is to be configured`
    throw new ConfigError('invalid_option', 'configuration', message)
  }
  return configuration?.connect(lent, policies)
}

function validStore(store: unknown): Store {
  const { check, settle, write, reset } = (store ?? {}) as Partial<Store>
  if ([check, settle, write, reset].every((method) => typeof method === 'function'))
    return store as Store
  throw new ConfigError('invalid_option', 'store', 'must be a store, such as upstash() or memory()')
}

/** Resolves every limit once for every plan, so that a wrong one is found at construction. */
function tryLimits(policies: readonly Policy[], plans: Plans | undefined): void {
  if (plans !== undefined && typeof plans?.get !== 'function') {
    throw new ConfigError('invalid_option', 'plans', 'must be made by definePlans')
  }
  for (const policy of policies) {
    for (const route of policy.routes ?? [undefined]) {
      if (plans === undefined) allowanceOf(policy, { plan: NO_PLAN, route, model: undefined })
      for (const name of plans?.names ?? []) {
        allowanceOf(
          policy,
          { plan: plans?.get(name) ?? NO_PLAN, route, model: undefined },
          {},
          name,
        )
      }
    }
  }
}
