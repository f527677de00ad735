import type { Clock } from './clock.ts'
import type { Cost } from './cost.ts'
import type { Decision, PlanSource, PolicyState, SkippedPolicy } from './decision.ts'
import type { Asked, PolicySettings } from './entries.ts'
import type { Hooks } from './hooks.ts'
import type { Policy, Verdict } from './policy.ts'
import type { PlanLimits, Plans } from './plans.ts'
import type { Store } from './store.ts'
import type { Subject } from './subject.ts'
import type { Watch } from './watch.ts'
import { systemClock } from './clock.ts'
import { costsOf } from './cost.ts'
import { decide, decideBlind } from './decision.ts'
import { entryOf, keysOf, stateOf } from './entries.ts'
import { ConfigError, InputError } from './errors.ts'
import { crossed, DEFAULT_THRESHOLDS, safeHooks, validThresholds } from './hooks.ts'
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

/** The last moment that a `Date` holds, in epoch ms. */
const MAX_TIME = 8_640_000_000_000_000

const OPTIONS = ['store', 'policies', 'plans', 'onStoreError', 'clock', 'hooks', 'thresholds']

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
  knownOptions('createLimiter', options, OPTIONS)
  const policies = validPolicies(options.policies)
  const { plans, clock = systemClock } = options
  const mode = oneOf('onStoreError', options.onStoreError ?? 'local', ['allow', 'deny', 'local'])
  const store = withFallback(validStore(options.store), mode)
  if (typeof clock !== 'function') {
    throw new ConfigError('invalid_option', 'clock', 'must be a function that returns epoch ms')
  }
  const hooks = safeHooks(options.hooks ?? {})
  const thresholds = validThresholds(options.thresholds ?? DEFAULT_THRESHOLDS)
  tryLimits(policies, plans)

  async function ask(subject: Subject, asked: CheckOptions, apply: boolean): Promise<Decision> {
    const cost = costsOf(costIn(asked), policies)
    const plan = planOf(subject, plans)
    const watches: Watch[] = []
    const settings = (): PolicySettings | undefined => undefined
    const situation = {
      subject: validSubject(subject),
      context: { plan: plan.limits, route: subject.route },
      plan: plan.name,
      cost,
      settings,
    }
    const parts = await Promise.all(policies.map((policy) => entryOf(policy, situation)))
    const counted = parts.filter((part) => 'entry' in part)
    const reply = await store.check({
      entries: counted.map(({ entry }) => entry),
      apply,
      now: timeOf(clock),
      clockIsInjected: options.clock !== undefined,
      reads: watches.map(({ read }) => read),
    })
    const context = {
      at: reply.now,
      skipped: parts.filter((part): part is SkippedPolicy => !('entry' in part)),
      plan: plan.name,
      planSource: plan.source,
      degraded: reply.degraded,
    }
    if (reply.degraded && reply.degraded.mode !== 'local') {
      return decideBlind(reply.degraded.mode, context)
    }
    const fits = (index: number): boolean => reply.verdicts[index]?.fits === true
    const charged = apply && counted.every(({ entry }, index) => !entry.enforced || fits(index))
    const states = counted.map((part, index) =>
      stateOf(part, reply.verdicts[index] as Verdict, charged && fits(index)),
    )
    if (apply) report(subject, counted, states, charged)
    return decide(states, context)
  }

  function report(
    subject: Subject,
    counted: readonly Asked[],
    states: readonly PolicyState[],
    charged: boolean,
  ): void {
    for (const [index, policy] of states.entries()) {
      if (!policy.fits && !policy.enforced) hooks.shadowDenial({ policy, subject })
      const most = counted[index]?.entry.burst
      if (!charged || !policy.fits || most === undefined) continue
      for (const threshold of crossed(most, policy, thresholds)) {
        hooks.threshold({ policy, subject, threshold })
      }
    }
  }

  return {
    check: (subject, asked = {}) => ask(subject, asked, true),
    peek: (subject, asked = {}) => ask(subject, asked, false),
    async reset(subject) {
      const own = policies.filter(({ per }) => per !== 'global')
      const keys = await Promise.all(own.map((policy) => keysOf(policy, validSubject(subject))))
      if (keys.length > 0) await store.reset([...new Set(keys.flat())])
    },
  }
}

/** The cost that a call asks for. A misspelt option would otherwise ask for one request. */
function costIn(asked: CheckOptions): Cost | undefined {
  if (typeof asked === 'object' && asked !== null) {
    if (Object.keys(asked).every((option) => option === 'cost')) return asked.cost
  }
  throw new InputError('invalid_cost', 'options', 'must be an object with no option but "cost"')
}

/** A clock's time in whole milliseconds: against NaN, everything would fit. */
function timeOf(clock: Clock): number {
  const now = Math.floor(clock())
  if (now >= 0 && now <= MAX_TIME) return now
  throw new ConfigError('invalid_option', 'clock', 'must return milliseconds since the Unix epoch')
}

function validSubject(subject: Subject): Subject {
  if (typeof subject === 'object' && subject !== null) return subject
  throw new InputError('invalid_subject', 'subject', 'must be an object of dimensions')
}

/** The plan whose limits apply, and where it comes from. */
interface FoundPlan {
  readonly name: string | undefined
  readonly limits: PlanLimits
  readonly source: PlanSource | undefined
}

function planOf(subject: Subject, plans: Plans | undefined): FoundPlan {
  if (plans === undefined) return { name: undefined, limits: NO_PLAN, source: undefined }
  const name = subject?.plan
  const limits = name === undefined ? undefined : plans.get(name)
  if (limits) return { name, limits, source: 'subject' }
  const { defaultPlan } = plans
  return { name: defaultPlan, limits: plans.get(defaultPlan) ?? NO_PLAN, source: 'default' }
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
