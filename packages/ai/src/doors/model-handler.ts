import type { Limiter, Subject, WaitUntil } from '@sluice/core'
import { InputError } from '@sluice/core'
import {
  assertHeaderStyles,
  assertMaxDelay,
  delay,
  limiterFrom,
  rateLimitHeaders,
  Refusal,
  waitUntilOf,
  withHeaders,
  type HeaderStyle,
  type LimiterSource,
  type SubjectResolver,
} from '@sluice/core/http'
import { assertFunction, assertText, type OptionRules } from '@sluice/core/validation'
import type { ModelApi } from '../call/api.ts'
import { meterAnswer, type SentCall } from '../call/answered.ts'
import { chargedSignal } from '../call/charged-signal.ts'
import { denialResponse, errorResponse, messageFor } from '../call/denial.ts'
import { admit, type CallOptions } from '../call/engine.ts'
import { hideOperator } from '../call/redaction.ts'
import { readCall } from '../call/refused-body.ts'
import { assertCallOptions, assertPriced, BODY_RULES, CALL_RULES } from '../call/rules.ts'
import {
  addressOf,
  apiOfHandler,
  assertKey,
  callUpstream,
  type Upstream,
} from '../call/upstream.ts'
import { logError } from '../log-error.ts'

/** Options of `modelHandler`. */
export interface ModelHandlerOptions<Context extends unknown[] = []> extends CallOptions {
  /** Finds out whose request it is; a request that is nobody's is answered with 401. */
  readonly subject: SubjectResolver<Context>
  /**
   * The format of requests and answers. Required with a function, which hides the address of the provider.
   *
   * @default that of the provider's address (`/v1/messages`, …)
   */
  readonly api?: ModelApi
  /** The id of the route, for policies that count by it. @default 'model' */
  readonly route?: string
  /** The headers that tell a client where it stands, as in `rateLimitHeaders`. @default ['x-ratelimit', 'draft'] */
  readonly headers?: readonly HeaderStyle[] | false
  /** The longest that an allowed call is delayed where a policy asks for it, in milliseconds. @default 30_000 */
  readonly maxDelayMs?: number
  /** Keeps work alive past the response. @default the `waitUntil` of the last argument, if it has one */
  readonly waitUntil?: WaitUntil
}

/** A call to send to the provider. */
export interface CallToSend {
  /** The JSON text to send. */
  readonly body: string
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
  readonly api: ModelApi
  readonly model: string
  readonly subject: Subject
}

/** Sends a call to the provider, and returns its answer. */
export type SendCall<Context extends unknown[] = []> = (
  call: CallToSend,
  request: Request,
  ...context: Context
) => Response | Promise<Response>

type ModelHandler<Context extends unknown[]> = (
  request: Request,
  ...context: Context
) => Promise<Response>

/**
 * A handler for model calls held to a limiter's policies: it reads the body, reserves the most that the
 * call may use, sends it, meters the answer as it passes, and settles what was used. Denials and errors
 * have the shape of the provider's, so that its clients understand them.
 *
 * @param send Names the provider to send the call to, or sends it. A function needs the option `api`.
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const openai = { url: 'https://api.openai.com/v1/chat/completions', key }
 * export const POST = modelHandler(limiter, { subject, prices: LIST_PRICES }, openai)
 */
export function modelHandler<Context extends unknown[] = []>(
  limiter: LimiterSource<Context>,
  options: ModelHandlerOptions<Context>,
  send: Upstream,
): ModelHandler<Context>
export function modelHandler<Context extends unknown[] = []>(
  limiter: LimiterSource<Context>,
  options: ModelHandlerOptions<Context> & { readonly api: ModelApi },
  send: SendCall<Context>,
): ModelHandler<Context>
export function modelHandler<Context extends unknown[]>(
  limiter: LimiterSource<Context>,
  options: ModelHandlerOptions<Context>,
  send: SendCall<Context> | Upstream,
): ModelHandler<Context> {
  const rules: OptionRules<ModelHandlerOptions> = {
    ...CALL_RULES,
    ...BODY_RULES,
    subject: assertFunction,
    api: assertText,
    route: assertText,
    headers: assertHeaderStyles,
    maxDelayMs: assertMaxDelay,
    waitUntil: assertFunction,
  }
  assertCallOptions('modelHandler', options, rules)
  const { maxDelayMs = 30_000, onError = logError } = options
  const isFunction = typeof send === 'function'
  const upstream = isFunction ? undefined : send
  const address = isFunction ? undefined : addressOf(send)
  const api = apiOfHandler(options.api, address)
  const sendCall: SendCall<Context> = isFunction
    ? send
    : (...[{ body, signal }]) => callUpstream(send, api, body, signal)
  const limiterFor = limiterFrom('modelHandler.limiter', limiter)
  const checked = (one: Limiter): Limiter => assertPriced('modelHandler', one, options)
  // A function may need what there is only at a request.
  if (typeof limiter !== 'function') checked(limiter)

  const refuse = (status: number, code: string, message: string): Response =>
    errorResponse({ status, code, message }, api)

  return async (request, ...context) => {
    if (upstream) assertKey(upstream)
    const found = await options.subject(request, ...context)
    if (!found) return refuse(401, 'invalid_api_key', 'This route needs credentials.')
    if (found instanceof Refusal) {
      return errorResponse(found.options, api, found.options.headers)
    }
    const subject: Subject = { ...found, route: options.route ?? 'model' }
    const waitUntil = options.waitUntil ?? waitUntilOf(context)
    const chosen = checked(limiterFor(...context))

    try {
      const source = { limiter: chosen, subject, options, api, host: address?.hostname, waitUntil }
      const call = await readCall(request, source)
      if ('status' in call) return call
      const admitted = await admit(chosen, call, subject, options, waitUntil)
      if ('allowed' in admitted) return denialResponse(admitted, api, options.spentStatus)
      const { signal } = request
      const { model } = call
      const body = call.bodyFor(admitted.output)
      const toSend = { body, signal: chargedSignal(chosen, signal), api, model, subject }
      const sendIt = () => sendCall(toSend, request, ...context)
      const sent = { admitted, call, options, waitUntil, signal }
      const answer = await answerOf(sent, sendIt, upstream, maxDelayMs, onError)
      if (answer === undefined) {
        return refuse(502, 'upstream_unavailable', 'The model cannot be reached.')
      }
      return withHeaders(answer, rateLimitHeaders(admitted.decision, options.headers))
    } catch (error) {
      // Any other is a mistake of the resolver's or of the options.
      if (!(error instanceof InputError && error.code === 'invalid_subject')) throw error
      return refuse(400, error.code, messageFor(error))
    }
  }
}

/** Waits for the turn of a call, sends it and meters its answer. Returns `undefined` if there is none. */
async function answerOf(
  sent: SentCall & { readonly signal: AbortSignal },
  send: () => Response | Promise<Response>,
  upstream: Upstream | undefined,
  maxDelayMs: number,
  report: (error: unknown) => void,
): Promise<Response | undefined> {
  const { admitted, signal } = sent
  const delayMs = Math.min(maxDelayMs, admitted.decision.delayMs)
  if (delayMs > 0) await delay(delayMs, signal)
  // The client is gone, and nothing was sent.
  if (signal.aborted) {
    admitted.cancel()
    return new Response(null, { status: 499 })
  }
  try {
    return await hideOperator(meterAnswer(await send(), sent), upstream?.key)
  } catch (error) {
    // A function of the user's may have tried before.
    admitted.unanswered(upstream && error)
    if (!signal.aborted) report(error)
    return undefined
  }
}
