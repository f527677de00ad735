import type { Clock } from './clock.ts'
import type { Cost } from './cost.ts'
import type { Decision } from './decision.ts'
import type { Hooks } from './hooks.ts'
import type { PlanResolver } from './plan-resolver.ts'
import type { PlanSearch } from './plan-search.ts'
import type { Policy } from './policy.ts'
import type { Plans } from './plans.ts'
import type { Store } from './store.ts'
import type { Subject } from './subject.ts'
import type { Lent, WaitUntil } from './watch.ts'
import { systemClock } from './clock.ts'
import { decider, NO_PLAN, type Question } from './deciding.ts'
import { keysOf } from './entries.ts'
import { ConfigError, InputError } from './errors.ts'
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

/** Options of one check. */
export interface CheckOptions {
  /** Units asked for. @default 1 request */
  readonly cost?: Cost
  /**
   * Lets work go on past the response, such as looking up a plan: `(promise) => ctx.waitUntil(promise)`.
   * Without it, a platform that stops a request's work with its response may cut that off; it is then
   * done by a later request. @default the work is not waited for
   */
  readonly waitUntil?: WaitUntil
}

/** Decides whether requests may go on. */
export interface Limiter {
  /**
   * Checks every policy and charges all of them if, and only if, all fit. One round trip. A store
   * that fails does not throw: the decision is then degraded.
   *
   * @throws InputError When the subject lacks a dimension or the cost is malformed.
   */
  check(subject: Subject, options?: CheckOptions): Promise<Decision>
  /** What `check` would decide now, charging nothing. @throws InputError As `check` does. */
  peek(subject: Subject, options?: CheckOptions): Promise<Decision>
  /**
   * Forgets what the subject's partitions have used, in every policy that is not `'global'`.
   *
   * @throws StoreError When the store fails.
   * @throws InputError As `check` does.
   */
  reset(subject: Subject): Promise<void>
  /**
   * Makes the plan of a tenant (or whatever `planOf` is by) be looked up again: in this isolate by its
   * next request, which waits for it, in the others within 5 seconds and the time that the look-up takes.
   *
   * @throws ConfigError When the limiter has no `planOf`.
   * @throws StoreError When the store fails; then in this isolate only.
   * @throws InputError When it is no id.
   */
  invalidate(tenant: string): Promise<void>
}

/** The last moment that a `Date` holds, in epoch ms. */
const MAX_TIME = 8_640_000_000_000_000

const OPTIONS = [
  'store',
  'policies',
  'plans',
  'planOf',
  'onStoreError',
  'clock',
  'hooks',
  'thresholds',
]

/**
 * Creates a limiter: an ordered list of policies over one store. Does no I/O.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * const limiter = createLimiter({
 *   store: upstash(),
 *   policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })],
 * })
 * const decision = await limiter.check({ tenant: 'acme', route: 'evaluate' })
 */
export function createLimiter(options: LimiterOptions): Limiter {
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
  const means = { policies, store, clock, clockIsInjected, plans, search, hooks, thresholds }
  const decide = decider(means)

  const ask = async (subject: Subject, asked: CheckOptions, apply: boolean): Promise<Decision> =>
    decide({ subject: validSubject(subject), apply, ...validAsked(asked) })

  return {
    check: (subject, asked = {}) => ask(subject, asked, true),
    peek: (subject, asked = {}) => ask(subject, asked, false),
    async reset(subject) {
      const own = policies.filter(({ per }) => per !== 'global')
      const keys = await Promise.all(own.map((policy) => keysOf(policy, validSubject(subject))))
      if (keys.length > 0) await store.reset([...new Set(keys.flat())])
    },
    async invalidate(tenant) {
      if (search) return search.invalidate(tenant)
      throw new ConfigError('invalid_option', 'planOf', 'is needed to invalidate a plan')
    },
  }
}

/** The options of a call. A misspelt one would otherwise ask for one request. */
function validAsked(asked: CheckOptions): Pick<Question, 'cost' | 'waitUntil'> {
  if (typeof asked === 'object' && asked !== null) {
    const { cost, waitUntil, ...unknown } = asked
    const isUsable = waitUntil === undefined || typeof waitUntil === 'function'
    if (isUsable && Object.keys(unknown).length === 0) return { cost, waitUntil }
  }
  const message = 'must be an object with no option but "cost" and "waitUntil", a function'
  throw new InputError('invalid_cost', 'options', message)
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

function validSubject(subject: Subject): Subject {
  if (typeof subject === 'object' && subject !== null) return subject
  throw new InputError('invalid_subject', 'subject', 'must be an object of dimensions')
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

function validStore(store: unknown): Store {
  const { check, write, reset } = (store ?? {}) as Partial<Store>
  if ([check, write, reset].every((method) => typeof method === 'function')) return store as Store
  throw new ConfigError('invalid_option', 'store', 'must be a store, such as upstash() or memory()')
}

/** Resolves every limit once for every plan, so that a wrong one is found at construction. */
function tryLimits(policies: readonly Policy[], plans: Plans | undefined): void {
  if (plans !== undefined && typeof plans?.get !== 'function') {
    throw new ConfigError('invalid_option', 'plans', 'must be made by definePlans')
  }
  for (const policy of policies) {
    for (const route of policy.routes ?? [undefined]) {
      if (plans === undefined) allowanceOf(policy, { plan: NO_PLAN, route })
      for (const name of plans?.names ?? []) {
        allowanceOf(policy, { plan: plans?.get(name) ?? NO_PLAN, route }, {}, name)
      }
    }
  }
}
