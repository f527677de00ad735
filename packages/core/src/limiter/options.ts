import type { Plans } from '../policies/plans.ts'
import type { Policy, PolicyRule } from '../policies/policy.ts'
import { assertStore, type Store } from '../stores/store.ts'
import type { Problem } from './events.ts'
import type { Emitters, Extension, ExtensionInstance } from './extensions.ts'
import type { LimiterRuntime } from './runtime.ts'
import { systemClock, type Clock } from '../clock.ts'
import { resolveLimits, type AnyLimitName } from '../policies/limit.ts'
import { collectRules } from '../policies/rules.ts'
import { withFallback, type OnStoreError } from '../stores/fallback.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertOneOf,
  invalidOption,
} from '../internal/validation.ts'
import { compile } from './compile.ts'
import { NO_LIMITS } from './plan.ts'
import { logProblem, throttleProblems } from './problems.ts'
import { warnOfSharedCounts } from './shared-counts.ts'

/** Options of `createLimiter`. */
export interface LimiterOptions<
  Dimension extends string = string,
  Unit extends string = string,
  Plan extends string = string,
  Name extends string = AnyLimitName,
> {
  /** The store that counts: `upstash()` or `memory()`. */
  readonly store: Store
  /** The policies, in the order in which a denial names them. */
  readonly policies: readonly Policy<Dimension, Unit, NoInfer<Name>>[]
  /** The plans that limits may depend on, created by `definePlans`. @default none */
  readonly plans?: Plans<Plan, Name>
  /** Extensions, such as `planResolver`, `runtimeConfiguration` or `listen`. @default none */
  readonly extensions?: readonly Extension[]
  /**
   * The decision when the store fails or is too slow: `'local'` applies the same policies, counted in
   * this process's memory; `localShare(0.1)` does so up to a share of each limit; `'allow'` allows every
   * request; `'deny'` denies every request with 503.
   * @default 'local'; 'deny' for a decision in which a policy that is enforced counts `usd`
   */
  readonly onStoreError?: OnStoreError
  /** The time, for tests. It takes precedence over the store's clock. @default the store's clock */
  readonly clock?: Clock
}

/** The latest time that a `Date` can represent, in epoch ms. */
const MAX_TIME = 8_640_000_000_000_000

const OPTIONS = ['store', 'policies', 'plans', 'extensions', 'onStoreError', 'clock']

/** Validates the options of a limiter and creates its runtime. @throws ConfigError When one is malformed. */
export function resolveOptions(options: LimiterOptions): LimiterRuntime {
  assertKnownOptions('createLimiter', options, OPTIONS)
  const { plans, extensions = [] } = options
  const policies = collectRules(options.policies)
  const { onStoreError, clock: injectedClock } = options
  if (typeof onStoreError !== 'function') {
    assertOneOf('onStoreError', onStoreError ?? 'local', ['allow', 'deny', 'local'])
  }
  const clock = wholeMsClock(injectedClock === undefined ? systemClock : injectedClock)
  assertLimits(policies, plans)
  const store = assertStore('store', options.store)
  store.accept?.(policies)
  for (const { balance } of policies) balance?.accept(options)
  let events: Emitters | undefined
  // An extension may use its host later: it then finds the observed store, and the events.
  const clockIsInjected = injectedClock !== undefined
  const host = {
    policies,
    plans,
    clock,
    clockIsInjected,
    store,
    problem: (problem: Problem) => events?.problem(problem),
  }
  const instances = assertExtensions(extensions).map((extension) => extension.join(host))
  assertConfigurable(policies, instances)
  const seam = extensions[0]?.seam
  events = seam?.createEmitters(instances, clock) ?? {
    problem: throttleProblems(logProblem, clock),
  }
  warnOfSharedCounts(store, policies)
  if (seam && events.storeCall) host.store = seam.observeStore(store, events.storeCall)
  return {
    program: compile(policies),
    store: withFallback(host.store, onStoreError, host.problem),
    clock,
    clockIsInjected,
    plans,
    events,
    extensions: instances,
    seam,
  }
}

const isExtension = (extension: Partial<Extension> | undefined): boolean =>
  typeof extension?.join === 'function'

function assertExtensions(extensions: unknown): readonly Extension[] {
  if (!Array.isArray(extensions) || !extensions.every(isExtension)) {
    throw invalidOption('extensions', 'must be a list, such as [planResolver(…)]', extensions)
  }
  const names = (extensions as readonly Extension[]).flatMap(({ name }) => name ?? [])
  if (new Set(names).size === names.length) return extensions
  throw invalidOption('extensions', 'must not have two of the same name', names.join())
}

/** Throws if a limit is `'configured'` and no extension can configure it. */
function assertConfigurable(
  policies: readonly PolicyRule[],
  extensions: readonly ExtensionInstance[],
): void {
  for (const { name, limit } of policies) {
    if (limit !== 'configured') continue
    if (extensions.some(({ configures }) => configures(name, 'limit'))) continue
    const message = `must have runtimeConfiguration that allows "limit" of policy "${name}"`
    throw invalidOption('extensions', message, limit)
  }
}

/** Wraps a clock so that it returns whole milliseconds or throws: against NaN, every cost would fit. */
function wholeMsClock(clock: Clock): Clock {
  assertFunction('clock', clock)
  return () => {
    const now = Math.floor(clock())
    if (now >= 0 && now <= MAX_TIME) return now
    throw invalidOption('clock', 'must return epoch milliseconds', now)
  }
}

/** Resolves every limit for every plan and route, so that an invalid one is found at construction. */
function assertLimits(policies: readonly PolicyRule[], plans: Plans | undefined): void {
  if (plans !== undefined && typeof plans?.get !== 'function') {
    throw invalidOption('plans', 'must be created by definePlans', plans)
  }
  for (const policy of policies) {
    for (const route of policy.routes ?? [undefined]) {
      for (const name of plans?.names ?? [undefined]) {
        const plan = (name !== undefined && plans?.get(name)) || NO_LIMITS
        resolveLimits(policy, { plan, route, model: undefined }, undefined, name)
      }
    }
  }
}
