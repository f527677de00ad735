/* Sending of one Redis command over the Upstash REST protocol. */
import { StoreError } from '../../errors.ts'
import { RedisError, type Transport } from '../redis/transport.ts'
import { badReply } from '../store.ts'

/** Creates the error of credentials that Upstash does not accept. */
export function unauthorized(status?: number): StoreError {
  const message =
    'The store refused the credentials: check UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN'
  return new StoreError('store_unauthorized', message, status)
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

/** Creates a transport over the Upstash REST protocol. It looks for the database at the first command. */
export function restTransport(findDatabase: () => Database, send: Fetch): Transport {
  let database: Database | undefined
  return async (command, signal) => {
    const [url, token] = (database ??= findDatabase())
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify(command)
    let response
    let text
    try {
      // Redirects are not followed: they would send keys to another host.
      response = await send(url, { method: 'POST', headers, body, redirect: 'manual', signal })
      text = await response.text()
    } catch {
      throw new StoreError('store_unreachable', 'The store cannot be reached')
    }
    return readBody(text, response.ok, response.status)
  }
}

function readBody(text: string, ok: boolean, status: number): unknown {
  const body = parse(text)
  if (ok && body !== undefined && 'result' in body) return body['result']
  // Redis' own errors have the status 400. Any other status comes from the service or a proxy.
  if ((ok || status === 400) && typeof body?.['error'] === 'string') {
    throw new RedisError(body['error'])
  }
  if (status === 401) throw unauthorized(status)
  if (ok) throw badReply(status)
  throw new StoreError('store_refused', `The store answered with status ${status}`, status)
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
