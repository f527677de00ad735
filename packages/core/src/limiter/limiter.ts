import type { Cost } from '../cost.ts'
import type { Decision } from '../decision.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { WaitUntil } from '../internal/background.ts'
import type { LimiterOptions } from './options.ts'
import { ConfigError, InputError } from '../errors.ts'
import { rulesSharingKeys } from '../policies/rules.ts'
import { digestLongValues, lacksDimension, type Subject } from '../subject.ts'
import { assertKnownOptions } from '../internal/validation.ts'
import { decide, type LimiterCall } from './decide.ts'
import { resolveOptions } from './options.ts'
import { keysOf } from './resolve.ts'
import { withRuntime, type LimiterRuntime } from './runtime.ts'

/** Options of one check. */
export interface CheckOptions<Unit extends string = string> {
  /** Units asked for. @default 1 request */
  readonly cost?: Cost<Unit> | undefined
  /**
   * Lets work go on past the response, such as looking up a plan: `(promise) => ctx.waitUntil(promise)`.
   * Without it, a platform that stops a request's work with its response may cut that off; it is then
   * done by a later request. @default the work is not waited for
   */
  readonly waitUntil?: WaitUntil | undefined
}

/** Options of `reset`. */
export interface ResetOptions {
  /** The policies to reset, by name. @default all that are not per `'global'` */
  readonly policies?: readonly string[]
}

/** `Given`, unless it is a literal that names no plan: one known only at run time is any string. */
export type PlanName<Given extends string, Plan extends string> = {} extends { [Name in Given]: 1 }
  ? Given
  : Given extends Plan
    ? Given
    : Plan

/** Decides whether requests may go on. Without type arguments, by any policies. */
export interface Limiter<
  Dimension extends string = string,
  Unit extends string = string,
  Plan extends string = string,
> {
  /**
   * Checks every policy and charges all of them if, and only if, all fit. One round trip. A store
   * that fails does not throw: the decision is then degraded.
   *
   * @throws InputError When the subject lacks a dimension or the cost is malformed.
   * @throws ConfigError When a function for a limit or burst returns no usable number.
   */
  check<const Given extends string>(
    subject: Subject<Dimension, PlanName<Given, Plan>>,
    options?: CheckOptions<Unit>,
  ): Promise<Decision>
  /** Decides as `check` would now, and charges nothing. @throws InputError As `check` does. */
  peek<const Given extends string>(
    subject: Subject<Dimension, PlanName<Given, Plan>>,
    options?: CheckOptions<Unit>,
  ): Promise<Decision>
  /**
   * Forgets what the subject's partitions have used: exactly those, in every policy that is not per
   * `'global'`, or in those that are named. Leaves out what is skipped where a dimension is missing.
   *
   * @throws StoreError When the store fails.
   * @throws InputError As `check` does.
   * @throws ConfigError When an option is unknown, names no policy, or some of the windows of one log.
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
  const runtime = resolveOptions(options as LimiterOptions)

  async function ask(
    subject: Subject,
    given: CheckOptions | undefined,
    apply: boolean,
  ): Promise<Decision> {
    return (await decide(runtime, parseCall(subject, given, apply, CHECK_OPTIONS))).decision
  }

  const limiter: Limiter = {
    check: (subject, given) => ask(subject, given, true),
    peek: (subject, given) => ask(subject, given, false),
    reset: (subject, given) => reset(runtime, subject, given),
  }
  return withRuntime(limiter, runtime)
}

const CHECK_OPTIONS = ['cost', 'waitUntil']

/** Makes a call of its arguments. A misspelt option would otherwise ask for one request. */
export function parseCall(
  subject: Subject,
  options: CheckOptions | undefined,
  apply: boolean,
  known: readonly string[],
): LimiterCall {
  assertSubject(subject)
  if (options === undefined) return { subject, apply, cost: undefined, waitUntil: undefined }
  if (typeof options === 'object' && options !== null) {
    const { cost, waitUntil } = options
    const isUsable = waitUntil === undefined || typeof waitUntil === 'function'
    if (isUsable && Object.keys(options).every((name) => known.includes(name))) {
      return { subject, apply, cost, waitUntil }
    }
  }
  const names = known.map((name) => `"${name}"`).join(', ')
  const message = `must be an object with no option but ${names}; waitUntil is a function`
  throw new InputError('invalid_cost', 'options', message)
}

/** Throws unless `subject` is an object. */
export function assertSubject(subject: unknown): asserts subject is Subject {
  if (typeof subject === 'object' && subject !== null) return
  throw new InputError('invalid_subject', 'subject', 'must be an object of dimensions')
}

async function reset(
  { program, store }: LimiterRuntime,
  subject: Subject,
  options: ResetOptions = {},
): Promise<void> {
  assertSubject(subject)
  const chosen = policiesToReset(program.policies, subject, options)
  const digests = await digestLongValues(subject, program.dimensions)
  const keys = program.compiled
    .filter(({ policy }) => chosen.includes(policy))
    .flatMap((compiled) => keysOf(compiled, subject, digests))
  if (keys.length > 0) await store.reset([...new Set(keys)])
}

/** The policies that a reset is of. */
export function policiesToReset(
  policies: readonly PolicyRule[],
  subject: Subject,
  options: ResetOptions,
): readonly PolicyRule[] {
  assertKnownOptions('reset', options, ['policies'])
  const { policies: names } = options
  if (names !== undefined && !Array.isArray(names)) {
    throw new ConfigError('invalid_option', 'reset.policies', 'must be a list of names')
  }
  for (const name of names ?? []) {
    const policy = policies.find((one) => one.name === name)
    if (policy === undefined) {
      throw new ConfigError('invalid_option', 'reset.policies', 'must hold names of policies only')
    }
    const together = rulesSharingKeys(policy, policies).map((one) => one.name)
    if (together.every((one) => names?.includes(one))) continue
    const message = `must name ${together.join(', ')} together: they count in one log`
    throw new ConfigError('invalid_option', 'reset.policies', message)
  }
  return policies.filter(
    ({ name, per, onMissing }) =>
      (names ? names.includes(name) : per !== 'global') &&
      !(onMissing === 'skip' && lacksDimension(subject, per)),
  )
}
