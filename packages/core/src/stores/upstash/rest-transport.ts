/* Sending of one Redis command over the Upstash REST protocol. */
import { StoreError } from '../../errors.ts'
import { RedisError, type Transport } from '../redis/transport.ts'
import { badReply } from '../store.ts'
import { parseJson } from '../../internal/attempt.ts'

/** Creates the error of credentials that Upstash does not accept. */
export function unauthorized(status?: number): StoreError {
  return new StoreError(
    'store_unauthorized',
    'The store refused the credentials: check UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN',
    status,
  )
}

/** The part of `fetch` that the transport needs. */
export type Fetch = (
  url: string,
  init: {
    method: string
    headers: Record<string, string>
    body: string
    redirect: 'manual'
    signal: AbortSignal
  },
) => Promise<Pick<Response, 'ok' | 'status' | 'text'>>

/** The REST URL of a database, and its token. */
export type Database = readonly [url: string, token: string]

/** Sends a command, as JSON, and returns its result. */
export type Sender = (
  send: Fetch,
  database: Database,
  command: string,
  signal: AbortSignal,
) => Promise<unknown>

/** Creates a transport over the Upstash REST protocol. It looks for the database at the first command. */
export function restTransport(
  findDatabase: () => Database,
  send: Fetch,
  sender: Sender = post,
): Transport {
  let database: Database | undefined
  return async (command, signal) =>
    sender(send, (database ??= findDatabase()), JSON.stringify(command), signal)
}

/** Returns the result of an answer's JSON, which is `undefined` if it is none. */
type Read = (json: unknown, ok: boolean, status: number) => unknown

/** Sends JSON to a database in a request of its own. @throws StoreError `store_unreachable`, or what `read` throws. */
export async function post(
  send: Fetch,
  [url, token]: Database,
  body: string,
  signal: AbortSignal,
  read: Read = resultOf,
): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  let response
  let text
  try {
    // Redirects are not followed: they would send keys to another host.
    response = await send(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    text = await response.text()
  } catch {
    throw new StoreError('store_unreachable', 'The store cannot be reached')
  }
  return read(parseJson(text), response.ok, response.status)
}

/** Reads the answer to one command. @throws RedisError, or a StoreError if it is not from Redis. */
export function resultOf(json: unknown, ok: boolean, status: number): unknown {
  const { result, error } = (json ?? {}) as { readonly result?: unknown; readonly error?: unknown }
  if (ok && result !== undefined) return result
  // Redis' own errors have the status 400. Any other status comes from the service or a proxy.
  if ((ok || status === 400) && typeof error === 'string') throw new RedisError(error)
  if (status === 401) throw unauthorized(status)
  if (ok) throw badReply(status)
  throw new StoreError('store_refused', `The store answered with status ${status}`, status)
}
