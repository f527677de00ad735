/* Sending of one Redis command over the Upstash REST protocol. */
import { StoreError } from '../../errors.ts'

/** A Redis command, or a part of one. */
export type Command = readonly (string | number)[]

/** An error reply of Redis itself. Its text may hold keys, so it is never passed on. */
export class RedisError extends Error {}

/** Creates the error of an answer that Redis cannot have given. */
export function badReply(status?: number): StoreError {
  return new StoreError('store_bad_reply', 'The store sent an invalid reply', status)
}

/** Creates the error of credentials that Upstash does not accept. */
export function unauthorized(status?: number): StoreError {
  const message =
    'The store refused the credentials: check UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, which belong together'
  return new StoreError('store_unauthorized', message, status)
}

/**
 * Sends a command, once: if its reply is lost, it may have been charged.
 *
 * @throws RedisError When Redis answered with an error.
 * @throws StoreError When no answer of Redis came back.
 */
export type Transport = (command: Command, signal: AbortSignal) => Promise<unknown>

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

/** Creates a transport over the Upstash REST protocol. */
export function restTransport(url: string, token: string, send: Fetch): Transport {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async (command, signal) => {
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
