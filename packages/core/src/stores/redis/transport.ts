/* The sending of one Redis command: what a store in Redis needs of REST or of a TCP client. */
import { StoreError } from '../../errors.ts'

/** A Redis command, or a part of one. */
export type Command = readonly (string | number)[]

/** An error reply of Redis itself. Its text may hold keys, so only the code word, or a mistake in Lua, is passed on. */
export class RedisError extends StoreError {
  readonly #text: string

  constructor(text: string) {
    const word = /^[A-Z]{2,}/.exec(text)?.[0]
    // A comma ends it: the digest follows, or the command with its keys.
    const mistake = /user_script:\d+:[^,]*/.exec(text)?.[0]
    super('store_refused', `The store refused the command: ${mistake ?? word ?? 'an error'}`)
    this.word = word
    this.#text = text
  }

  /** Finds a part of the text. */
  find(part: RegExp): RegExpExecArray | null {
    return part.exec(this.#text)
  }
}

/** Creates the error of a command that could not be sent to Redis. */
export const notConnected = (): StoreError =>
  new StoreError('store_unreachable', 'The client is not connected to Redis')

/** A client that reports the errors of its connections. */
export interface ReportingClient {
  on(event: 'error' | 'node error', listener: (error: Error) => void): unknown
  listenerCount(event: 'error'): number
}

/** The last error that a client reported since it has sent a command. */
interface Failure {
  last?: Error | undefined
}

const failures = new WeakMap<object, Failure>()

/**
 * Returns the last failure of a client. One listener serves all stores over it. There is none for `error` until its
 * user has one: without any, `ioredis` logs its errors, and node-redis ends the process.
 */
export function failureOf(
  client: ReportingClient,
  event: 'error' | 'node error' = 'error',
): Failure {
  const known = failures.get(client)
  if (known) return known
  const failure: Failure = {}
  if (event === 'error' && client.listenerCount(event) === 0) return failure
  failures.set(client, failure)
  client.on(event, (error) => (failure.last = error))
  return failure
}

/**
 * Converts an error of a TCP client. Redis' own replies begin with a code word; Node's errors have a `code`.
 * The client's errors hold the whole command, so only a reply's text is kept.
 *
 * @param last The error for which the client has no connection, if any.
 */
export function clientError(error: unknown, last?: unknown): Error {
  if (error instanceof StoreError) return error
  const { message = '', code } = (error ?? {}) as { message?: string; code?: unknown }
  // Redis refuses a long command of an unauthenticated client before it looks at it.
  if (/^(NOAUTH|WRONGPASS) |^ERR Protocol error: unauthenticated/.test(message)) {
    const text = 'Redis refused the credentials: check the username and password of your client'
    return new StoreError('store_unauthorized', text)
  }
  return code === undefined && /^[A-Z]{2,} /.test(message)
    ? new RedisError(message)
    : last === undefined
      ? new StoreError('store_unreachable', 'The store cannot be reached')
      : clientError(last)
}

/**
 * Sends a command, once: if its reply is lost, it may have been charged.
 *
 * @throws RedisError When Redis answered with an error.
 * @throws StoreError When no answer of Redis came back.
 */
export type Transport = (command: Command, signal: AbortSignal) => Promise<unknown>

/** Sends a command to one node of a cluster; with `asking`, behind ASKING in the same connection. */
export type NodeTransport = (
  command: Command,
  signal: AbortSignal,
  asking?: boolean,
) => Promise<unknown>

/** Returns a reply with numbers within the safe integers: some clients read the largest one, 2^53 - 1, as 2^53. */
export function withinSafe(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(withinSafe)
  const max = Number.MAX_SAFE_INTEGER
  return typeof reply === 'number' ? Math.max(-max, Math.min(max, reply)) : reply
}
