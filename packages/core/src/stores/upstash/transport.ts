import { ConfigError, StoreError } from '../../errors.ts'

/** A Redis command: its name and arguments. */
export type Command = readonly (string | number)[]

/** An error answer of Redis itself, by its leading code word and text. Never shown to a user. */
export class RedisError extends Error {}

/** Sends one command once. */
export interface Transport {
  /**
   * @throws RedisError When Redis answered with an error.
   * @throws StoreError When nothing that Redis would say came back.
   */
  send(command: Command, signal: AbortSignal): Promise<unknown>
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

/** Speaks the Upstash REST protocol with `fetch`: one attempt, because a lost reply may have counted. */
export function restTransport(url: string, token: string, fetchFn: Fetch): Transport {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    async send(command, signal) {
      const body = JSON.stringify(command)
      let response
      let text
      try {
        // A redirect is refused, not followed: it would carry keys to another host.
        response = await fetchFn(url, { method: 'POST', headers, body, redirect: 'manual', signal })
        text = await response.text()
      } catch {
        throw new StoreError('store_unreachable', 'The store cannot be reached')
      }
      return readBody(text, response.ok, response.status)
    },
  }
}

function readBody(text: string, ok: boolean, status: number): unknown {
  const body = parse(text)
  if (ok && body !== undefined && 'result' in body) return body['result']
  // Redis' own errors come with status 400; any other status is the service or a proxy speaking.
  if ((ok || status === 400) && typeof body?.['error'] === 'string') {
    throw new RedisError(body['error'])
  }
  if (ok) throw new StoreError('store_bad_reply', 'The store answered with something else', status)
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

/** The part of an `@upstash/redis` client's inside that carries requests. */
interface RestClient {
  request(request: { body: Command; signal: () => AbortSignal }): Promise<{ result?: unknown }>
  retry: unknown
}

/**
 * Sends through a user's own `@upstash/redis` client, by way of a view of its HTTP client that makes
 * one attempt (the client itself would make up to six, and each may count) and aborts for real (it
 * turns the abort of a signal object into an answer; only of a signal function into an error).
 */
export function clientTransport(redis: unknown): Transport {
  const http = (redis as { client?: unknown } | null)?.client
  if (!isRestClient(http)) {
    throw new ConfigError(
      'invalid_option',
      'upstash.redis',
      'must be a Redis instance of @upstash/redis (tested with 1.39); or pass url and token',
    )
  }
  const view = Object.create(http, {
    retry: { value: { attempts: 0, backoff: () => 0 } },
  }) as RestClient
  return {
    async send(command, signal) {
      try {
        const { result } = await view.request({ body: command, signal: () => signal })
        return result
      } catch (error) {
        throw translate(error)
      }
    },
  }
}

function isRestClient(http: unknown): http is RestClient {
  return (
    typeof http === 'object' &&
    http !== null &&
    typeof (http as Partial<RestClient>).request === 'function' &&
    typeof (http as Partial<RestClient>).retry === 'object'
  )
}

// The client's error texts hold the whole command, so only their kind is passed on.
function translate(error: unknown): Error {
  const name = error instanceof Error ? error.name : ''
  if (name === 'UpstashError') return new RedisError((error as Error).message)
  if (name === 'UpstashJSONParseError') {
    return new StoreError('store_bad_reply', 'The store answered with something else')
  }
  return new StoreError('store_unreachable', 'The store cannot be reached')
}
