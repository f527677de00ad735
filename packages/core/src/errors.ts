/**
 * A mistake in options. Thrown while a limiter, policy, plan or store is constructed, and by
 * `configure` and `reset`.
 */
export type ConfigErrorCode =
  | 'invalid_option'
  | 'unknown_option'
  | 'invalid_duration'
  | 'duplicate_policy'
  | 'missing_credentials'
  | 'configuration_full'

/** A mistake in the input of one call, to a limiter or to a function of `@sluice/ai`. */
export type InputErrorCode =
  | 'invalid_subject'
  | 'missing_dimension'
  | 'invalid_cost'
  | 'invalid_reservation'
  | 'invalid_body'
  | 'unknown_model'

/**
 * The failure of a store. A decision carries it in `degraded`; only `settle`, `cancel`, `reset`,
 * `invalidatePlan`, `configure`, `readConfiguration` and `removeConfiguration` throw it.
 */
export type StoreErrorCode =
  | 'store_timeout'
  | 'store_unreachable'
  | 'store_unauthorized'
  | 'store_refused'
  | 'store_bad_reply'
  | 'store_failed'
  | 'store_conflict'

/** The codes of all Sluice errors. Codes are stable; messages are not. */
export type ErrorCode = ConfigErrorCode | InputErrorCode | StoreErrorCode

/**
 * The base class of all Sluice errors. Switch on `code`; each code has a section in `docs/errors.md`.
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

/** An error in options, found at construction, by `configure` or by `reset`. `option` names the option. */
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

/** An error in the input of one call. `input` names the field; the message never contains its value. */
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

/** A failure of the store. The message contains no key, id or credential. */
export class StoreError extends SluiceError {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode
  /** The HTTP status of the store's answer, if there was one. */
  readonly status: number | undefined

  constructor(code: StoreErrorCode, message: string, status?: number) {
    super(message)
    this.code = code
    this.status = status
  }
}
