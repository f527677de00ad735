import type { Clock } from './clock.ts'
import type { Cost } from './cost.ts'
import type { Decision, PolicyState } from './decision.ts'
import type { Entry, Policy, Verdict } from './policy.ts'
import type { PlanLimits, Plans } from './plans.ts'
import type { Store } from './store.ts'
import type { Subject } from './subject.ts'
import { systemClock } from './clock.ts'
import { costsOf } from './cost.ts'
import { decide, decideBlind } from './decision.ts'
import { ConfigError, InputError } from './errors.ts'
import { keyPrefix, resolveLimit, validPolicies } from './policy.ts'
import { withFallback, type OnStoreError } from './stores/fallback.ts'
import { partitionKey } from './subject.ts'
import { knownOptions, oneOf } from './validate.ts'

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** Where counts live: `upstash()` or `memory()`. */
  readonly store: Store
  /** The rules, in the order in which a denial names them. */
  readonly policies: readonly Policy[]
  /** The plans that limits may depend on, made by `definePlans`. @default none */
  readonly plans?: Plans
  /**
   * What to do when the store fails or is too slow: `'local'` holds the request to the same policies
   * counted in this process's memory, `'allow'` lets it pass, `'deny'` refuses it. @default 'local'
   */
  readonly onStoreError?: OnStoreError
  /** The time, for tests: it then decides even where the store has a clock. @default the store's clock */
  readonly clock?: Clock
}

/** Options of one check. */
export interface CheckOptions {
  /** Units asked for. @default 1 request */
  readonly cost?: Cost
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
}

const NO_PLAN: PlanLimits = Object.freeze(Object.create(null) as PlanLimits)

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
  knownOptions('createLimiter', options, ['store', 'policies', 'plans', 'onStoreError', 'clock'])
  const policies = validPolicies(options.policies)
  const { plans, clock = systemClock } = options
  const mode = oneOf('onStoreError', options.onStoreError ?? 'local', ['allow', 'deny', 'local'])
  const store = withFallback(validStore(options.store), mode)
  if (typeof clock !== 'function') {
    throw new ConfigError('invalid_option', 'clock', 'must be a function that returns epoch ms')
  }
  tryLimits(policies, plans)

  async function ask(subject: Subject, cost: Cost | undefined, apply: boolean): Promise<Decision> {
    const plan = planOf(subject, plans)
    const limits = (plan === undefined ? undefined : plans?.get(plan)) ?? NO_PLAN
    const costs = costsOf(cost, policies)
    const keys = await keysOf(subject, policies)
    const entries = policies.map((policy, index): Entry => ({
      key: keys[index] as string,
      algorithm: policy.algorithm,
      limit: resolveLimit(policy, limits, plan),
      cost: costs[index] as number,
      params: policy.params,
    }))
    const reply = await store.check({
      entries,
      apply,
      now: clock(),
      clockIsInjected: options.clock !== undefined,
    })
    const context = { at: reply.now, plan, degraded: reply.degraded }
    if (reply.degraded && reply.degraded.mode !== 'local') {
      return decideBlind(reply.degraded.mode, context)
    }
    const charged = apply && reply.verdicts.every(({ fits }) => fits)
    const states = policies.map((policy, index) =>
      stateOf(policy, entries[index] as Entry, reply.verdicts[index] as Verdict, charged),
    )
    return decide(states, context)
  }

  return {
    check: (subject, { cost } = {}) => ask(subject, cost, true),
    peek: (subject, { cost } = {}) => ask(subject, cost, false),
    async reset(subject) {
      const own = policies.filter(({ per }) => per !== 'global')
      if (own.length > 0) await store.reset(await keysOf(subject, own))
    },
  }
}

function stateOf(policy: Policy, entry: Entry, verdict: Verdict, charged: boolean): PolicyState {
  const { name, scope, unit, windowMs, reason } = policy
  const { limit, cost } = entry
  return {
    name,
    scope,
    unit,
    limit,
    remaining: verdict.available - (charged ? cost : 0),
    cost,
    windowMs,
    resetMs: verdict.resetMs,
    fits: verdict.fits,
    retryAfterMs: verdict.retryMs < 0 ? null : verdict.retryMs,
    reason,
  }
}

function keysOf(subject: Subject, policies: readonly Policy[]): Promise<string[]> {
  if (typeof subject !== 'object' || subject === null) {
    throw new InputError('invalid_subject', 'subject', 'must be an object of dimensions')
  }
  return Promise.all(
    policies.map(
      async (policy) => `${keyPrefix(policy)}:${await partitionKey(subject, policy.per)}`,
    ),
  )
}

function planOf(subject: Subject, plans: Plans | undefined): string | undefined {
  if (plans === undefined) return undefined
  const name = subject?.plan
  return name !== undefined && plans.get(name) ? name : plans.defaultPlan
}

function validStore(store: unknown): Store {
  const { check, reset } = (store ?? {}) as Partial<Store>
  if (typeof check === 'function' && typeof reset === 'function') return store as Store
  throw new ConfigError('invalid_option', 'store', 'must be a store, such as upstash() or memory()')
}

/** Resolves every limit once for every plan, so that a wrong one is found at construction. */
function tryLimits(policies: readonly Policy[], plans: Plans | undefined): void {
  if (plans !== undefined && typeof plans?.get !== 'function') {
    throw new ConfigError('invalid_option', 'plans', 'must be made by definePlans')
  }
  for (const policy of policies) {
    if (plans === undefined) resolveLimit(policy, NO_PLAN)
    for (const name of plans?.names ?? []) resolveLimit(policy, plans?.get(name) ?? NO_PLAN, name)
  }
}
