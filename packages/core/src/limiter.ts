import type { ConfigurationChanges } from './configuration/configuration-changes.ts'
import type { Configured } from './configuration/configuration-document.ts'
import type { Cost } from './cost.ts'
import type { Decision } from './decision.ts'
import type { WaitUntil } from './watch.ts'
import { decider, type Question } from './deciding.ts'
import { durationMs, type Duration } from './duration.ts'
import { keysOf } from './entries.ts'
import { ConfigError, InputError } from './errors.ts'
import { meansOf, type LimiterOptions } from './limiter-options.ts'
import {
  reservationOf,
  validReservation,
  type Reservation,
  type ReserveDecision,
} from './reservation.ts'
import { sharingLog, type Policy } from './policy.ts'
import { lacksDimension, type Subject } from './subject.ts'
import { knownOptions } from './validate.ts'

export type { LimiterOptions } from './limiter-options.ts'

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

/** Options of one reservation. */
export interface ReserveOptions extends CheckOptions {
  /** For how long it can be settled; then the estimate is final. @default '1h' */
  readonly settleWithin?: Duration
}

/** Options of `reset`. */
export interface ResetOptions {
  /** The policies to reset, by name. @default all that are not per `'global'` */
  readonly policies?: readonly string[]
  /** Whether to remove what is configured for these partitions as well. @default false */
  readonly configuration?: boolean
}

/** Decides whether requests may go on. */
export interface Limiter {
  /**
   * Checks every policy and charges all of them if, and only if, all fit. One round trip. A store
   * that fails does not throw: the decision is then degraded.
   *
   * @throws InputError When the subject lacks a dimension or the cost is malformed.
   * @throws ConfigError When a function for a limit or burst returns no usable number.
   */
  check(subject: Subject, options?: CheckOptions): Promise<Decision>
  /** What `check` would decide now, charging nothing. @throws InputError As `check` does. */
  peek(subject: Subject, options?: CheckOptions): Promise<Decision>
  /**
   * Checks and charges an estimate, to be settled when it is known what was really used. If allowed,
   * the decision carries `settle`, `cancel` and `toJSON`. One round trip.
   *
   * @throws InputError As `check` does.
   * @throws ConfigError `invalid_duration` When `settleWithin` is none.
   * @example
   * const decision = await limiter.reserve(subject, { cost: { token: 2_000, usd: usd(0.01) } })
   * if (!decision.allowed) return tooManyRequests(decision)
   * const { usage } = await callModel()
   * await decision.settle({ token: usage.total_tokens, usd: usd(0.004) })
   */
  reserve(subject: Subject, options?: ReserveOptions): Promise<ReserveDecision>
  /**
   * A reservation made elsewhere, from its data or its JSON text, such as out of a queue. It is
   * settled in this limiter's store; a policy that this limiter has not got is left out.
   *
   * @throws InputError `invalid_reservation` When it is none.
   */
  reservation(data: unknown): Reservation
  /**
   * Forgets what the subject's partitions have used: exactly those, in every policy that is not per
   * `'global'`, or in those that are named. Leaves out what is skipped where a dimension is missing.
   *
   * @throws StoreError When the store fails.
   * @throws InputError As `check` does.
   * @throws ConfigError When an option is unknown, names no policy, or some of the windows of one log.
   */
  reset(subject: Subject, options?: ResetOptions): Promise<void>
  /**
   * Makes the plan of a tenant (or whatever `planOf` is by) be looked up again: in this isolate by its
   * next request, which waits for it, in the others within 5 seconds and the time that the look-up takes.
   *
   * @throws ConfigError When the limiter has no `planOf`.
   * @throws StoreError When the store fails; then in this isolate only.
   * @throws InputError When it is no id.
   */
  invalidate(tenant: string): Promise<void>
  /**
   * Changes settings of policies while the app runs: for all of a policy, or, with a subject, for the
   * partition that it falls in, which comes first. `null` removes what is set. In effect with the next
   * request of this isolate, and within 5 seconds in the others. Nothing is written unless all of it is
   * valid.
   *
   * @throws ConfigError When the limiter's `configuration` does not allow it, or a value is out of range.
   * @throws InputError When the subject lacks a dimension of one of the policies.
   * @throws StoreError When the store fails; the change may have been made, and can be made again.
   * @example
   * await limiter.configure({ rpm: { limit: 30 } })
   * await limiter.configure({ rpm: { limit: 5 } }, { tenant: 'acme' })
   */
  configure(changes: ConfigurationChanges, subject?: Subject): Promise<void>
  /** What is configured, as the store has it now. @throws StoreError When it fails. */
  configuration(): Promise<readonly Configured[]>
}

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
  const means = meansOf(options)
  const { policies, store, search, configuration } = means
  const decide = decider(means)

  async function ask(subject: Subject, asked: CheckOptions, apply: boolean): Promise<Decision> {
    const question = { subject: validSubject(subject), apply, settleWithinMs: 0 }
    return (await decide({ ...question, ...validAsked(asked, ['cost', 'waitUntil']) })).decision
  }

  return {
    check: (subject, asked = {}) => ask(subject, asked, true),
    peek: (subject, asked = {}) => ask(subject, asked, false),
    async reserve(subject, asked = {}) {
      const given = validAsked(asked, ['cost', 'waitUntil', 'settleWithin'])
      const settleWithinMs = durationMs('settleWithin', asked.settleWithin ?? '1h')
      const question = { subject: validSubject(subject), apply: true, settleWithinMs, ...given }
      const { decision, reservation } = await decide(question)
      return decision.allowed ? { ...decision, ...reservationOf(reservation, means) } : decision
    },
    reservation: (data) => reservationOf(validReservation(data), means),
    async reset(subject, asked = {}) {
      const own = resettable(policies, validSubject(subject), asked)
      const keys = await Promise.all(own.map((policy) => keysOf(policy, subject)))
      const part = asked.configuration ? needed('configuration', configuration) : undefined
      if (keys.length > 0) await store.reset([...new Set(keys.flat())])
      await part?.forget(own, subject)
    },
    invalidate: async (tenant) => needed('planOf', search).invalidate(tenant),
    async configure(changes, ...subject) {
      const part = needed('configuration', configuration)
      // A subject that turns out to be none must not set the limits of everyone.
      await part.configure(changes, subject.length > 0 ? validSubject(subject[0]) : undefined)
    },
    configuration: async () => needed('configuration', configuration).configured(),
  }
}

/** Returns `part` if the limiter was made with the option that it comes of, else throws. */
function needed<Part>(option: string, part: Part | undefined): Part {
  if (part !== undefined) return part
  throw new ConfigError('invalid_option', option, 'is missing, and this call needs it')
}

/** The policies that a reset is of. */
function resettable(
  policies: readonly Policy[],
  subject: Subject,
  asked: ResetOptions,
): readonly Policy[] {
  knownOptions('reset', asked, ['policies', 'configuration'])
  const { policies: names } = asked
  if (names !== undefined && !Array.isArray(names)) {
    throw new ConfigError('invalid_option', 'reset.policies', 'must be a list of names')
  }
  for (const name of names ?? []) {
    const policy = policies.find((one) => one.name === name)
    if (policy === undefined) {
      throw new ConfigError('invalid_option', 'reset.policies', 'must hold names of policies only')
    }
    const together = sharingLog(policy, policies).map((one) => one.name)
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

/** The options of a call. A misspelt one would otherwise ask for one request. */
function validAsked(
  asked: CheckOptions,
  known: readonly string[],
): Pick<Question, 'cost' | 'waitUntil'> {
  if (typeof asked === 'object' && asked !== null) {
    const { cost, waitUntil } = asked
    const isUsable = waitUntil === undefined || typeof waitUntil === 'function'
    if (isUsable && Object.keys(asked).every((name) => known.includes(name))) {
      return { cost, waitUntil }
    }
  }
  const options = known.map((name) => `"${name}"`).join(', ')
  const message = `must be an object with no option but ${options}; waitUntil is a function`
  throw new InputError('invalid_cost', 'options', message)
}

function validSubject(subject: unknown): Subject {
  if (typeof subject === 'object' && subject !== null) return subject
  throw new InputError('invalid_subject', 'subject', 'must be an object of dimensions')
}
