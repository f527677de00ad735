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

/** A mistake in the input of one call, to a limiter or to a function of `@sluice/ai` or `@sluice/queue`. */
export type InputErrorCode =
  | 'invalid_subject'
  | 'missing_dimension'
  | 'invalid_cost'
  | 'invalid_reservation'
  | 'invalid_choices'
  | 'invalid_body'
  | 'body_too_large'
  | 'unknown_model'
  | 'invalid_job'
  | 'queue_full'
  | 'invalid_grant'
  | 'grant_too_old'
  | 'grant_expired'
  | 'grant_differs'
  | 'grant_unknown'
  | 'too_many_grants'
  | 'too_many_lots'
  | 'balance_too_large'
  | 'balance_unknown'
  | 'balance_exists'
  | 'balance_changed'
  | 'balance_held'
  | 'invalid_export'

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
  | 'store_moved'
  | 'store_paused'

/** The codes of all Sluice errors. Codes are stable; messages are not. */
export type ErrorCode = ConfigErrorCode | InputErrorCode | StoreErrorCode

/**
 * The base class of all Sluice errors. Switch on `code`; each code has a section in `docs/errors.md`, which
 * is in this package. The message begins with `Sluice:`, and ends with the name of the section.
 *
 * @example
 * try {
 *   createLimiter({ store, policies: [] })
 * } catch (error) {
 *   if (error instanceof SluiceError && error.code === 'invalid_option') console.error(error.message)
 * }
 */
export abstract class SluiceError<Code extends ErrorCode = ErrorCode> extends Error {
  declare readonly code: Code
  /** The message alone, without the option or input at fault. */
  declare readonly reason: string

  constructor(code: Code, message: string, reason: string = message) {
    super(`Sluice: ${message} (docs/errors.md#${code})`)
    this.code = code
    this.reason = reason
  }
}

/** Shows a value of an option: only its type if it is an object, and only the beginning of a text. */
function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  return Object(value) === value ? typeof value : String(value)
}

/** An error in options, found at construction, by `configure` or by `reset`. `option` names the option. */
export class ConfigError extends SluiceError<ConfigErrorCode> {
  override readonly name = 'ConfigError'
  /** The path of the option at fault, such as `slidingWindow.window`. */
  declare readonly option: string

  /** @param given The value of the option, to show it in the message. Leave it out if it is a secret. */
  constructor(code: ConfigErrorCode, option: string, reason: string, ...given: [given?: unknown]) {
    for (const value of given) reason += ` (given: ${show(value)})`
    super(code, `${option}: ${reason}`, reason)
    this.option = option
  }
}

/** An error in the input of one call. `input` names the field; the message never contains its value, unless that is the name of a model. */
export class InputError extends SluiceError<InputErrorCode> {
  override readonly name = 'InputError'
  /** The field at fault, such as `subject.tenant` or `cost.token`. */
  declare readonly input: string

  constructor(code: InputErrorCode, input: string, reason: string) {
    super(code, `${input}: ${reason}`, reason)
    this.input = input
  }
}

/** A failure of the store. The message contains no key, id or credential. */
export class StoreError extends SluiceError<StoreErrorCode> {
  override readonly name = 'StoreError'
  /** The HTTP status of the store's answer, if there was one. */
  declare readonly status: number | undefined
  /** The code word of Redis if it refused, such as `OOM`, `READONLY` or `NOPERM`. */
  declare word?: string | undefined
  /** The name of the database that failed, if the store has several. */
  declare readonly place?: string
  /** The place that failed, as decisions name it, if the store has several. */
  declare origin?: string

  constructor(code: StoreErrorCode, reason: string, status?: number) {
    super(code, reason)
    this.status = status
  }
}
