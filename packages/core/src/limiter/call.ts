import type { Cost } from '../cost.ts'
import type { WaitUntil } from '../internal/background.ts'
import type { Subject } from '../subject.ts'
import { InputError } from '../errors.ts'

/** Options of one check. */
export interface CheckOptions<Unit extends string = string> {
  /** The units that the request asks for. @default 1 request */
  readonly cost?: Cost<Unit> | undefined
  /**
   * Keeps background work, such as looking up a plan, running after the response:
   * `(promise) => ctx.waitUntil(promise)`. Without it, a platform that stops a request's work with its
   * response may cut that work off, and a later request repeats it. @default none
   */
  readonly waitUntil?: WaitUntil | undefined
  /** Several subjects and costs, created by `choices`, of which the first that fits is charged. Instead of `cost`. @default none */
  readonly choices?: Choices<Unit> | undefined
}

/** Several calls of which one is charged. Created by `choices`. */
export interface Choices<Unit extends string = string, Fit = unknown> {
  readonly name: 'choices'
  /** For the compiler alone; never set. */
  readonly '~types'?: readonly [{ readonly [Name in Unit]?: true }, Fit] | undefined
}

/** The arguments of one call to a limiter, validated. */
export interface LimiterCall {
  readonly subject: Subject
  readonly cost: Cost | undefined
  /** True to charge the cost if it fits; false to only look. */
  readonly apply: boolean
  readonly waitUntil: WaitUntil | undefined
  readonly choices?: Choices | undefined
}

/** The facts of one decision that an extension may use. */
export interface ExtensionCall {
  readonly subject: Subject
  readonly waitUntil: WaitUntil | undefined
  /** The time at which the decision began, by the machine's clock. Pass it to `records`. */
  readonly startedAt: number
  /** Moves the store's deadline by `ms` milliseconds that were spent elsewhere, such as in a database. */
  pauseDeadline(ms: number): void
}

/**
 * Validates the arguments of a call. A misspelt option is an error: without its cost, a call would ask
 * for one request.
 *
 * @param known The names of the options that the call may have.
 * @throws InputError When an argument is malformed.
 */
export function parseCall(
  subject: Subject,
  options: CheckOptions = {},
  apply: boolean,
  known: readonly string[],
): LimiterCall {
  assertSubject(subject)
  if (typeof options === 'object' && options !== null) {
    const { cost, waitUntil, choices } = options
    // Of a list that `choices` has not made, the call would ask for one request.
    if (choices !== undefined && choices?.name !== 'choices') {
      throw new InputError('invalid_choices', 'choices', 'must be what choices([…]) returns')
    }
    const isCallable = waitUntil === undefined || typeof waitUntil === 'function'
    if (isCallable && Object.keys(options).every((name) => known.includes(name))) {
      return { subject, apply, cost, waitUntil, choices }
    }
  }
  const names = known.join('", "')
  const message = `must be an object with only "${names}"; waitUntil must be a function`
  throw new InputError('invalid_cost', 'options', message)
}

/** @throws InputError Unless `subject` is an object. */
export function assertSubject(subject: unknown): asserts subject is Subject {
  if (typeof subject === 'object' && subject !== null) return
  throw new InputError('invalid_subject', 'subject', 'must be an object such as { tenant }')
}
