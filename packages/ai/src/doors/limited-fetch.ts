import type { DeniedDecision, Limiter, Subject, WaitUntil } from '@sluice/core'
import { Refusal } from '@sluice/core/http'
import { lastingSignal, withDecision } from '@sluice/core/internal/http'
import { assertFunction } from '@sluice/core/internal'
import { apiOfPath } from '../call/api.ts'
import { sendCall } from '../call/send.ts'
import { hasCharged } from '../call/charged-signal.ts'
import { denialResponse, errorResponse } from '../call/denial.ts'
import { admitCall } from '../call/admission.ts'
import type { CallOptions } from '../call/options.ts'
import { compilePassThrough, type PassThrough } from '../call/pass-through.ts'
import { prepareCall } from '../call/prepare.ts'
import { readBody } from '../call/read-body.ts'
import { refusalOf } from '../call/refused-body.ts'
import { assertClientOptions, BODY_RULES } from '../call/rules.ts'

/** The part of `fetch` that model clients use. */
export type FetchLike = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Options of `limitedFetch`. */
export interface LimitedFetchOptions extends CallOptions {
  /** The subject of the calls, or a function that returns it at each call. */
  readonly subject: Subject | (() => Subject | Promise<Subject>)
  /**
   * The requests that may pass without a charge, beside those that cost nothing: a list of paths, with a
   * method or without (`'POST /v1/files'`, `'/oauth/token'`), or a function that returns true for them. `*`
   * stands for any text. Model calls that have a price are always charged.
   *
   * @default none: anything but model calls, GET, HEAD and what is free is refused with 403
   */
  readonly passThrough?: PassThrough
  /**
   * Answers a denied call instead of the bare 429, in the shape of the provider, to which the limits' headers
   * are added. If it returns `undefined` the answer is the 429. An exception is not caught.
   */
  readonly onDenied?: (
    decision: DeniedDecision,
    subject: Subject,
  ) => Response | undefined | Promise<Response | undefined>
  /** Sends what is allowed. @default fetch */
  readonly fetch?: FetchLike
  /** Keeps work alive past the response: `(promise) => ctx.waitUntil(promise)`. @default none */
  readonly waitUntil?: WaitUntil
}

/**
 * A `fetch` for model clients, held to a limiter's policies: each call reserves the most that it may use,
 * and settles what it used. A denial is a 429 in the provider's shape, on which the official clients wait
 * or stop. A request that is no model call with a price passes if it reads (GET, HEAD), is free, or is named
 * in `passThrough`, and else is refused with 403.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const openai = new OpenAI({ fetch: limitedFetch(limiter, { subject: { tenant }, prices: LIST_PRICES }) })
 */
export function limitedFetch(limiter: Limiter, options: LimitedFetchOptions): FetchLike {
  return refusingFetch(limiter, options, unpriced)
}

/** Returns what `limitedFetch` does, with the caller's text for requests without a price. */
export function refusingFetch(
  limiter: Limiter,
  options: LimitedFetchOptions,
  unpricedText: (method: string) => string,
): FetchLike {
  assertClientOptions('limitedFetch', limiter, options, {
    ...BODY_RULES,
    // Compiled below.
    passThrough: () => undefined,
    fetch: assertFunction,
  })
  const { subject, fetch: send = (input, init) => fetch(input, init), waitUntil } = options
  const mayPass = compilePassThrough(options.passThrough)

  return async (input, init) => {
    // Not by its class, which servers replace.
    const request = typeof input === 'object' && 'method' in input ? input : undefined
    const method = (init?.method ?? request?.method ?? 'GET').toUpperCase()
    const headers = new Headers(init?.headers ?? request?.headers)
    const url = new URL(request?.url ?? (input as string | URL))
    const api = method === 'POST' ? apiOfPath(url.pathname) : undefined
    if (api === undefined) {
      if (await mayPass({ method, url }, headers)) return send(input, init)
      return refuse(403, 'unpriced_request', unpricedText(method), headers)
    }
    const signal = init?.signal ?? (request && lastingSignal(request)) ?? undefined
    if (hasCharged(limiter, signal)) return refuse(400, 'charged_twice', CHARGED_TWICE, headers)

    const source = init?.body === undefined && request ? request : new Response(init?.body)
    const caller = typeof subject === 'function' ? await subject() : subject
    let body: unknown
    const admitted = await admitCall(
      async (change) => {
        body ??= await readBody(source, options.maxBodyBytes)
        return prepareCall(change?.(body) ?? body, options, api, url)
      },
      { limiter, subject: caller, options, waitUntil },
    ).catch(refusalOf)
    if (admitted instanceof Refusal) return errorResponse(admitted.options, api)
    if (!admitted.allowed) {
      const answer = await options.onDenied?.(admitted, caller)
      const denial = answer ?? denialResponse(admitted, api, options.spentStatus)
      return withDecision(denial, admitted, { headers })
    }
    if (signal?.aborted) {
      admitted.cancel()
      throw signal.reason
    }
    headers.delete('content-length')
    const [answer, { decision }] = await (options.fallbackModels?.send ?? sendCall)(
      admitted,
      ({ call, output }, charged) =>
        send(call.url as URL, {
          ...initOf(request),
          ...init,
          method,
          headers,
          signal: charged,
          body: call.bodyFor(output),
        }),
      signal,
      // Another `fetch` may have tried before.
      !options.fetch,
    )
    return withDecision(answer, decision, { headers })
  }
}

const unpriced = (method: string): string =>
  `limitedFetch refuses this ${method}: it is no model call that has a price, and may cost something. ` +
  'To send it without a charge, name its method and path in the option passThrough.'

const CHARGED_TWICE =
  'limitedFetch refuses this call: its limiter has charged it already. Limit a call in one place.'

/** Answers a request that is not sent. The official clients do not repeat it. */
function refuse(status: number, code: string, message: string, headers: Headers): Response {
  // Anthropic's clients send this header with every request.
  const api = headers.has('anthropic-version') ? 'anthropic-messages' : 'openai-chat'
  return errorResponse({ status, code, message, headers: { 'x-should-retry': 'false' } }, api)
}

/** The parts of a request that are sent on as they are. */
const initOf = (request: Request | undefined): RequestInit | undefined =>
  request && {
    redirect: request.redirect,
    credentials: request.credentials,
    cache: request.cache,
    ...(request.mode !== 'navigate' && { mode: request.mode }),
    referrerPolicy: request.referrerPolicy,
  }
