import type { Decision, DeniedDecision, Limiter, Subject, WaitUntil } from '@sluice/core'
import {
  Refusal,
  type GuessLimit,
  type HeaderStyle,
  type LimiterSource,
  type SubjectResolver,
} from '@sluice/core/http'
import {
  assertHeaderStyles,
  assertMaxDelay,
  createIdentify,
  delay,
  limiterFrom,
  orRefusal,
  signalOf,
  unread,
  withDecision,
} from '@sluice/core/internal/http'
import {
  assertFunction,
  assertText,
  hasMethod,
  oneOf,
  type OptionRules,
} from '@sluice/core/internal'
import type { ModelApi } from '../call/api.ts'
import { meterAnswer } from '../call/answered.ts'
import { chargedSignal } from '../call/charged-signal.ts'
import { denialResponse, errorResponse } from '../call/denial.ts'
import { admitCall } from '../call/admission.ts'
import type { CallOptions } from '../call/engine.ts'
import { hideOperator } from '../call/redaction.ts'
import { prepareCall } from '../call/prepare.ts'
import { readBody } from '../call/read-body.ts'
import { refusalOf } from '../call/refused-body.ts'
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
  /** Finds the subject of a request. A request without one is answered with 401. */
  readonly subject: SubjectResolver<Context>
  /**
   * The format of requests and answers. Required with a function, which hides the address of the provider.
   *
   * @default that of the provider's address (`/v1/messages`, …)
   */
  readonly api?: ModelApi
  /** The id of the route, for policies that count by it. @default 'model' */
  readonly route?: string
  /** A limit on guesses at credentials, created by `limitGuesses`, as in every adapter. @default none */
  readonly unauthenticated?: GuessLimit<Context>
  /**
   * The treatment of CORS preflights, as in every adapter: `limit` treats one as any other request; `pass`
   * answers it with 204, uncharged. The headers that allow an origin are yours to add. @default 'limit'
   */
  readonly preflight?: 'limit' | 'pass'
  /**
   * Answers a denied call instead of the bare 429, for example with a cached result in the shape of the provider.
   * Its request has the JSON of the body, and none if the body was no JSON. If it returns `undefined` the answer is the 429. The limits' headers are added to its response. Not
   * called for a request without a subject. An exception is not caught.
   */
  readonly onDenied?: (
    decision: DeniedDecision,
    request: Request,
    ...context: Context
  ) => Response | undefined | Promise<Response | undefined>
  /** The headers about the limits, as in `rateLimitHeaders`. @default ['x-ratelimit', 'draft'] */
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
    unauthenticated: hasMethod('around', 'created by limitGuesses'),
    preflight: oneOf('limit', 'pass'),
    onDenied: assertFunction,
    api: assertText,
    route: assertText,
    headers: assertHeaderStyles,
    maxDelayMs: assertMaxDelay,
    waitUntil: assertFunction,
  }
  assertCallOptions('modelHandler', options, rules)
  const { route = 'model', headers, maxDelayMs = 30_000, onError = logError } = options
  const address = typeof send === 'function' ? undefined : addressOf(send)
  const upstream = address && (send as Upstream)
  const api = apiOfHandler(options.api, address)
  const sendCall = upstream
    ? (call: CallToSend) => callUpstream(upstream, call)
    : (send as SendCall<Context>)
  const limiterFor = limiterFrom('modelHandler.limiter', limiter)
  const checked = (one: Limiter): Limiter => assertPriced('modelHandler', one, options)
  // A function may need what there is only at a request.
  if (typeof limiter !== 'function') checked(limiter)

  const identify = createIdentify(options)

  return async (request, ...context) => {
    const reply = (decision: Decision, response: Response): Response =>
      withDecision(response, decision, request, headers)
    const refuse = (reason: Refusal | DeniedDecision): Response =>
      reason instanceof Refusal
        ? errorResponse(reason.options, api)
        : reply(reason, denialResponse(reason, api))

    if (upstream) assertKey(upstream)
    const caller = await identify(route, request, ...context)
    if (!caller) return new Response(null, { status: 204 })
    if (!('subject' in caller)) return refuse(caller)
    const { subject, waitUntil, refund } = caller
    const chosen = checked(limiterFor(...context))
    const signal = signalOf(request)

    let body: unknown
    const read = async () => {
      body ??= await readBody(request, options.maxBodyBytes)
      return prepareCall(body, options, api, address?.hostname)
    }
    const admitting = admitCall(read, { limiter: chosen, subject, options, waitUntil })
    const admitted = await orRefusal(route, admitting).catch(refusalOf)
    await refund
    if (!('call' in admitted)) {
      if (admitted instanceof Refusal) return refuse(admitted)
      const answer = await options.onDenied?.(
        admitted,
        unread(request, JSON.stringify(body)),
        ...context,
      )
      return reply(admitted, answer ?? denialResponse(admitted, api, options.spentStatus))
    }
    const { call, decision } = admitted
    await delay(Math.min(maxDelayMs, decision.delayMs), signal)
    // The client is gone, and nothing was sent.
    if (signal.aborted) {
      admitted.cancel()
      return new Response(null, { status: 499 })
    }
    const toSend = {
      body: call.bodyFor(admitted.output),
      signal: chargedSignal(chosen, signal),
      api,
      model: call.model,
      subject,
    }
    try {
      const answer = await sendCall(toSend, request, ...context)
      const metered = meterAnswer(answer, admitted, signal)
      const shown = await hideOperator(metered, upstream?.key)
      return reply(decision, shown)
    } catch (error) {
      // A function of the user's may have tried before.
      admitted.unanswered(upstream && error)
      if (!signal.aborted) onError(error)
      const message = 'The model is unreachable.'
      return errorResponse({ status: 502, code: 'upstream_unavailable', message }, api)
    }
  }
}
