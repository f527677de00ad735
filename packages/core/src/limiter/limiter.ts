import type { Cost } from '../cost.ts'
import type { Decision } from '../decision.ts'
import type { Subject } from '../subject.ts'
import { parseCall, type CheckOptions } from './call.ts'
import { decide } from './decide.ts'
import { resolveOptions, type LimiterOptions } from './options.ts'
import { reset, type ResetOptions } from './reset.ts'
import { withRuntime, type LimiterRuntime } from './runtime.ts'

/**
 * The type of a plan's name in a subject. A literal must name a plan; a name that is known only at run
 * time may be any string.
 */
export type PlanName<Literal extends string, Plan extends string> = {} extends {
  [Name in Literal]: 1
}
  ? Literal
  : Literal extends Plan
    ? Literal
    : Plan

/** Decides whether requests may proceed. Without type arguments, a limiter with any policies. */
export interface Limiter<
  Dimension extends string = string,
  Unit extends string = string,
  Plan extends string = string,
> {
  /**
   * Checks every policy and charges all of them if, and only if, all fit. One round trip. If the store
   * fails, it does not throw: the decision is degraded.
   *
   * @throws InputError When the subject lacks a dimension or the cost is malformed.
   * @throws ConfigError When a function for a limit or burst returns an invalid value.
   */
  check<const Literal extends string>(
    subject: Subject<Dimension, PlanName<Literal, Plan>>,
    options?: CheckOptions<Unit>,
  ): Promise<Decision>
  /** Decides as `check` would now, and charges nothing. @throws InputError As `check` does. */
  peek<const Literal extends string>(
    subject: Subject<Dimension, PlanName<Literal, Plan>>,
    options?: CheckOptions<Unit>,
  ): Promise<Decision>
  /**
   * Removes the counts of the subject's partitions, and of no others: in the policies that `options`
   * names, or in all except those with per `'global'`. Without a route in the subject, policies that count by route
   * are reset on each route that is known. A policy with `onMissing: 'skip'` is left out if the subject lacks
   * another of its dimensions.
   *
   * @throws StoreError When the store fails.
   * @throws InputError As `check` does.
   * @throws ConfigError When an option is unknown, names no policy, or names only some windows of a log.
   */
  reset(subject: Subject<Dimension>, options?: ResetOptions): Promise<void>
}

/**
 * Creates a limiter: an ordered list of policies over one store, compiled once. Does no I/O.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * const limiter = createLimiter({
 *   store: upstash(),
 *   policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })],
 * })
 * const decision = await limiter.check({ tenant: 'acme', route: 'evaluate' })
 */
export function createLimiter<
  Dimension extends string,
  Unit extends string,
  Plan extends string,
  Name extends string,
>(options: LimiterOptions<Dimension, Unit, Plan, Name>): Limiter<Dimension, Unit, Plan> {
  return limiterOf(resolveOptions(options as LimiterOptions))
}

/**
 * Returns the limiter of a runtime.
 *
 * @param mayKeepSlots True to warn once if `check` takes slots.
 */
export function limiterOf(
  runtime: LimiterRuntime,
  mayKeepSlots: boolean = runtime.program.policies.some(({ algorithm }) => algorithm.traits?.held),
): Limiter {
  async function evaluate(
    subject: Subject,
    callOptions: CheckOptions | undefined,
    apply: boolean,
  ): Promise<Decision> {
    const call = parseCall(subject, callOptions, apply, CHECK_OPTIONS)
    const outcome = await (runtime.wait ?? decide)(runtime, call)
    runtime.seam?.report(runtime.events, outcome)
    return outcome.decision
  }

  const limiter: Limiter = {
    check(subject, callOptions) {
      if (mayKeepSlots && takesSlot(callOptions?.cost)) {
        mayKeepSlots = false
        console.warn(KEEPS_SLOT)
      }
      return evaluate(subject, callOptions, true)
    },
    peek: (subject, callOptions) => evaluate(subject, callOptions, false),
    reset: (subject, resetOptions) => reset(runtime, subject, resetOptions),
  }
  return withRuntime(limiter, runtime)
}

const takesSlot = (cost: Cost | undefined): boolean =>
  (cost as { call?: number } | null)?.call !== 0

const KEEPS_SLOT =
  'Sluice: check takes a slot of concurrency for maxDuration; reserve gives it back (behind an adapter: cost: reserving(…))'

const CHECK_OPTIONS = ['cost', 'waitUntil', 'choices']
