/** The stable codes of a `LocalError`, to branch on. */
export type LocalErrorCode =
  | 'ERR_LOCAL_OPTION'
  | 'ERR_LOCAL_PORT_IN_USE'
  | 'ERR_LOCAL_REDIS_MISSING'
  | 'ERR_LOCAL_REDIS_START'
  | 'ERR_LOCAL_REDIS_UNREACHABLE'

/** The error that this package throws. Its text never contains an auth token or a Redis password. */
export class LocalError extends Error {
  override readonly name = 'LocalError'
  /** The kind of error. Texts may change; codes do not. */
  readonly code: LocalErrorCode

  constructor(code: LocalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
