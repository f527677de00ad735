import type { Limiter, Subject, WaitUntil } from '@sluice/core'
import { rateLimitHeaders, withHeaders } from '@sluice/core/http'
import { assertFunction, assertKnownOptions } from '@sluice/core/validation'
import { apiOfPath } from './call/api.ts'
import { denialResponse } from './call/denial.ts'
import { admit, assertCallOptions, CALL_OPTIONS, type CallOptions } from './call/engine.ts'
import { readCall } from './call/refused-body.ts'

/** The part of `fetch` that model clients use. */
export type FetchLike = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Options of `limitedFetch`. */
export interface LimitedFetchOptions extends CallOptions {
  /** The one whose calls these are, or a function that finds out at each call. */
  readonly subject: Subject | (() => Subject | Promise<Subject>)
  /** Sends what is allowed. @default fetch */
  readonly fetch?: FetchLike
  /** Keeps work alive past the response: `(promise) => ctx.waitUntil(promise)`. @default none */
  readonly waitUntil?: WaitUntil
}

/**
 * A `fetch` for model clients, held to a limiter's policies: each call reserves the most that it may use,
 * and settles what it used. A denial is a 429 in the provider's shape, on which the official clients wait
 * or stop. Requests that are no model call pass unchanged.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const openai = new OpenAI({ fetch: limitedFetch(limiter, { subject: { tenant }, prices: LIST_PRICES }) })
 */
export function limitedFetch(limiter: Limiter, options: LimitedFetchOptions): FetchLike {
  assertKnownOptions('limitedFetch', options, [...CALL_OPTIONS, 'subject', 'fetch', 'waitUntil'])
  assertCallOptions(options)
  const { subject, fetch: send = (input, init) => fetch(input, init), waitUntil } = options
  assertFunction('limitedFetch.fetch', send)

  return async (input, init) => {
    const request = input instanceof Request ? input : undefined
    const method = init?.method ?? request?.method ?? 'GET'
    const url = new URL(input instanceof Request ? input.url : input)
    const api = method.toUpperCase() === 'POST' ? apiOfPath(url.pathname) : undefined
    if (api === undefined) return send(input, init)
    const signal = init?.signal ?? request?.signal ?? undefined

    const source = init?.body === undefined ? request : new Response(init.body)
    const whose = typeof subject === 'function' ? await subject() : subject
    const call = await readCall(source ?? new Response(), {
      limiter,
      subject: whose,
      options,
      api,
      waitUntil,
    })
    if ('status' in call) return call
    const admitted = await admit(limiter, call, whose, options, waitUntil)
    if ('allowed' in admitted) return denialResponse(admitted, api, options.spentStatus)
    try {
      const headers = new Headers(init?.headers ?? request?.headers)
      headers.delete('content-length')
      const answer = await send(url, {
        ...initOf(request),
        ...init,
        method,
        headers,
        body: call.bodyFor(admitted.output),
      })
      return withHeaders(admitted.answered(answer, signal), rateLimitHeaders(admitted.decision))
    } catch (error) {
      admitted.unanswered()
      throw error
    }
  }
}

/** The parts of a request that are sent on as they are. */
function initOf(request: Request | undefined): RequestInit {
  if (request === undefined) return {}
  const { signal, redirect, credentials, cache, mode, referrerPolicy } = request
  return {
    signal,
    redirect,
    credentials,
    cache,
    ...(mode !== 'navigate' && { mode }),
    referrerPolicy,
  }
}
