import { StoreError } from '../../errors.ts'

/** A Redis command, or a part of one. */
export type Command = readonly (string | number)[]

/** An error answer of Redis itself, by its leading code word and text. Never shown to a user. */
export class RedisError extends Error {}

/** The error of an answer that is not Redis'. */
export function badReply(status?: number): StoreError {
  return new StoreError('store_bad_reply', 'The store answered with something else', status)
}

/**
 * Sends one command once: a lost reply may have counted.
 *
 * @throws RedisError When Redis answered with an error.
 * @throws StoreError When nothing that Redis would say came back.
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

/** Speaks the Upstash REST protocol with `fetch`. */
export function restTransport(url: string, token: string, send: Fetch): Transport {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async (command, signal) => {
    const body = JSON.stringify(command)
    let response
    let text
    try {
      // A redirect is refused, not followed: it would carry keys to another host.
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
  // Redis' own errors come with status 400; any other status is the service or a proxy speaking.
  if ((ok || status === 400) && typeof body?.['error'] === 'string') {
    throw new RedisError(body['error'])
  }
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
