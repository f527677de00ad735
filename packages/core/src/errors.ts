/**
 * What went wrong in the caller's configuration. Thrown while a limiter, policy, plan or store is
 * constructed, and by `configure` and `reset`.
 */
export type ConfigErrorCode =
  | 'invalid_option'
  | 'unknown_option'
  | 'invalid_duration'
  | 'duplicate_policy'
  | 'missing_credentials'
  | 'configuration_full'

/** What is wrong with the input of one call to a limiter, or to what `llm` has. */
export type InputErrorCode =
  | 'invalid_subject'
  | 'missing_dimension'
  | 'invalid_cost'
  | 'invalid_reservation'
  | 'invalid_body'
  | 'unknown_model'

/**
 * How a store failed. Carried by a degraded decision; thrown by `settle`, `cancel`, `reset`, `invalidatePlan`,
 * `configure`, `configured` and `removeConfiguration` only.
 */
export type StoreErrorCode =
  | 'store_timeout'
  | 'store_unreachable'
  | 'store_refused'
  | 'store_bad_reply'
  | 'store_failed'
  | 'store_conflict'

/** Every code a Sluice error can carry. Codes are stable; messages are not. */
export type ErrorCode = ConfigErrorCode | InputErrorCode | StoreErrorCode

/**
 * The base of every error thrown by Sluice. Switch on `code`; each one has a section in `docs/errors.md`.
 *
 * @example
 * try {
 *   createLimiter({ store, policies: [] })
 * } catch (error) {
 *   if (error instanceof SluiceError && error.code === 'invalid_option') console.error(error.message)
 * }
 */
export abstract class SluiceError extends Error {
  abstract readonly code: ErrorCode
}

/** A mistake in configuration, found at construction or by `configure`. `option` names the culprit. */
export class ConfigError extends SluiceError {
  override readonly name = 'ConfigError'
  readonly code: ConfigErrorCode
  /** The path of the option at fault, such as `slidingWindow.window`. */
  readonly option: string
  /** The message without the option. */
  readonly reason: string

  constructor(code: ConfigErrorCode, option: string, reason: string) {
    super(`${option}: ${reason}`)
    this.code = code
    this.option = option
    this.reason = reason
  }
}

/** Input that cannot be counted. `input` names the field; its value is never in the text. */
export class InputError extends SluiceError {
  override readonly name = 'InputError'
  readonly code: InputErrorCode
  /** The field at fault, such as `subject.tenant` or `cost.token`. */
  readonly input: string
  /** The message without the input. */
  readonly reason: string

  constructor(code: InputErrorCode, input: string, reason: string) {
    super(`${input}: ${reason}`)
    this.code = code
    this.input = input
    this.reason = reason
  }
}

/** A store that did not answer as a store does. The text holds no key, no id and no credential. */
export class StoreError extends SluiceError {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode
  /** The HTTP status of the answer, where there was one. */
  readonly status: number | undefined

  constructor(code: StoreErrorCode, message: string, status?: number) {
    super(message)
    this.code = code
    this.status = status
  }
}
