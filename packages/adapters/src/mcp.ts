import type { AllowedDecision } from '@sluice/core'
import {
  createGuard,
  decisionOf as decisionOfRequest,
  reservationOf as reservationOfRequest,
  type GuardOptions,
  type LimiterSource,
  type RequestReservation,
} from '@sluice/core/http'
import { assertFunction, assertKnownOptions } from '@sluice/core/internal'
import { headersOf } from './internal/fetch-headers.ts'
import { assertRouteId } from './internal/route-option.ts'
import {
  assertCode,
  refusedResult,
  withHeaders,
  type RefusedResult,
  type ToolResult,
} from './internal/tool-result.ts'

export { countMessages } from './internal/count-messages.ts'
export type { CountMessagesOptions, MessageCost } from './internal/count-messages.ts'

export type { RefusedResult, ToolResult } from './internal/tool-result.ts'

/** The caller that the SDK has authenticated. */
export interface ToolCaller {
  readonly token: string
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly extra?: Readonly<Record<string, unknown>> | undefined
}

/**
 * The last argument of a tool's callback: who calls, and over which transport. Version 2 of the SDK has it in
 * `mcpReq` and `http`, version 1 in the other fields. An app has one of them, so neither is imported.
 */
export interface ToolExtra {
  readonly mcpReq?: { readonly signal: AbortSignal } | undefined
  readonly http?:
    { readonly req?: Request | undefined; readonly authInfo?: ToolCaller | undefined } | undefined
  readonly sessionId?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly requestInfo?:
    { readonly headers: Readonly<Record<string, string | string[] | undefined>> } | undefined
  readonly authInfo?: ToolCaller | undefined
}

/** The values that functions of the options get beside the request. */
export type ToolContext = [extra: ToolExtra, input: unknown]

/** Options of `rateLimit`. */
export interface RateLimitOptions extends Pick<
  GuardOptions<ToolContext>,
  'subject' | 'cost' | 'maxDelayMs' | 'unauthenticated' | 'headers' | 'waitUntil'
> {
  /**
   * The `code` of denials in the `_meta` of their results, a whole number. -32023 is the proposed `RateLimited`. @default none
   */
  readonly code?: number | undefined
}

/** Wraps the callback of a tool, which is counted by its name. */
export type LimitTool = <
  Values extends unknown[] = [extra: ToolExtra],
  Result extends ToolResult = ToolResult,
>(
  name: string,
  callback: (...values: Values) => Result | Promise<Result>,
) => (...values: Values) => Promise<Result | RefusedResult>

const OPTIONS = ['subject', 'cost', 'maxDelayMs', 'unauthenticated', 'headers', 'waitUntil', 'code']

const requests = new WeakMap<ToolExtra, Request>()

/**
 * Creates a function that limits tools of an MCP server, of version 2 or 1 of the SDK. A call is counted by the name of its tool. One
 * without a subject, or that a policy denies, gets a result with `isError` that tells the model when to
 * call again. The results of other calls have the limits' headers in their `_meta`.
 *
 * The functions of the options get a `Request` with the headers of the HTTP transport, and none over
 * stdio. It has no body: the input of the tool is the last argument.
 *
 * @param limiter A limiter, or a function that creates it at the first call (its result is kept).
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const limited = rateLimit(limiter, { subject: tenantFromJwt })
 * server.registerTool('search', config, limited('search', async ({ query }) => search(query)))
 */
export function rateLimit(
  limiter: LimiterSource<ToolContext>,
  options: RateLimitOptions,
): LimitTool {
  assertKnownOptions('rateLimit', options, OPTIONS)
  const { code, ...guardOptions } = options
  if (code !== undefined) assertCode('code', code)
  const guard = createGuard<ToolContext>(limiter, { ...guardOptions, format: 'default' })

  return (name, callback) => {
    assertRouteId('name', name)
    assertFunction('callback', callback)
    return async (...values) => {
      // A tool without an input schema gets no input.
      const extra = values.at(-1) as ToolExtra
      const request = requestOf(name, extra)
      requests.set(extra, request)
      const input = values.length > 1 ? values[0] : undefined
      const outcome = await guard({ id: name, cost: undefined }, request, extra, input)
      if (outcome.kind === 'refuse') return refusedResult(outcome.response, code)
      if (outcome.kind === 'pass') return callback(...values)
      try {
        return withHeaders(await callback(...values), outcome.headers)
      } finally {
        await outcome.call?.end()
      }
    }
  }
}

/**
 * Returns the reservation of a call to the callback of its tool.
 *
 * @throws ConfigError When nothing is reserved for the call: it needs `cost: reserving(…)`.
 * @example
 * limited('search', async ({ query }, extra) => {
 *   const { text, usage } = await callModel(query)
 *   await reservationOf(extra).settle({ token: usage.total_tokens })
 *   return { content: [{ type: 'text', text }] }
 * })
 */
export function reservationOf(extra: ToolExtra): RequestReservation {
  return reservationOfRequest(requests.get(extra) as Request)
}

/**
 * Returns the decision on a call to the callback of its tool: what is left of the limits, and `degraded` if
 * the store failed. `undefined` if the call was not charged.
 *
 * @example
 * const isDegraded = decisionOf(extra)?.degraded !== undefined
 */
export function decisionOf(extra: ToolExtra): AllowedDecision | undefined {
  return decisionOfRequest(requests.get(extra) as Request)
}

/** Returns the HTTP request of a call as its transport describes it, to a URL of its tool. */
function requestOf(name: string, { mcpReq, http, requestInfo, signal }: ToolExtra): Request {
  const headers = http?.req?.headers ?? headersOf(requestInfo?.headers ?? {})
  const url = `mcp://tools/${encodeURIComponent(name)}`
  return new Request(url, { method: 'POST', headers, signal: mcpReq?.signal ?? signal ?? null })
}
