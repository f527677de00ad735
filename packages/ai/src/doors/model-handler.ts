import type { DeniedDecision, Subject } from '@sluice/core'
import { Refusal, respond, type GuardOptions, type LimiterSource } from '@sluice/core/http'
import {
  createStages,
  decideAnew,
  limiterFrom,
  orRefusal,
  lastingSignal,
  STAGE_RULES,
  withBody,
} from '@sluice/core/internal/http'
import { assertText, type OptionRules } from '@sluice/core/internal'
import type { ModelApi } from '../call/api.ts'
import { sendCall } from '../call/send.ts'
import { denialResponse, errorResponse } from '../call/denial.ts'
import { admitCall } from '../call/admission.ts'
import type { AdmittedCall, CallOptions } from '../call/options.ts'
import { hideOperator } from '../call/redaction.ts'
import { wasNeverSent } from '../call/never-sent.ts'
import { prepareCall, type Prepare, type PreparedBody } from '../call/prepare.ts'
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

/** The options of `modelHandler` that every adapter has. */
type AdapterOption = 'subject' | 'unauthenticated' | 'headers' | 'waitUntil'

/** Options of `modelHandler`. */
export interface ModelHandlerOptions<Context extends unknown[] = []>
  extends CallOptions, Pick<GuardOptions<Context>, AdapterOption> {
  /**
   * The format of requests and answers. Required with a function, which hides the address of the provider.
   *
   * @default that of the provider's address (`/v1/messages`, …)
   */
  readonly api?: ModelApi
  /** The id of the route, for policies that count by it. @default 'model' */
  readonly route?: string
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
  readonly onDenied?: NonNullable<GuardOptions<Context>['onDenied']>
  /** The longest that an allowed call is delayed where a policy asks for it, in milliseconds. @default 30_000 */
  readonly maxDelayMs?: number
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

const UNREACHABLE = {
  status: 502,
  code: 'upstream_unavailable',
  message: 'The model is unreachable.',
} as const
/** If no model of a list could be reached: the official clients would try all of them again. */
const NO_RETRY = { 'x-should-retry': 'false' } as const

const RULES: OptionRules<ModelHandlerOptions> = {
  ...CALL_RULES,
  ...BODY_RULES,
  ...STAGE_RULES,
  api: assertText,
  route: assertText,
}

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
  assertCallOptions('modelHandler', options, RULES)
  const { route = 'model', spentStatus, onError = logError } = options
  const [upstream, address] = typeof send === 'function' ? [] : [send, addressOf(send)]
  const api = apiOfHandler(options.api, address)
  const limiterFor = limiterFrom('modelHandler.limiter', limiter)
  // A function may need what there is only at a request.
  if (typeof limiter !== 'function') assertPriced('modelHandler', limiter, options)
  const stages = createStages<Context, Request, AdmittedCall<PreparedBody>>(
    options,
    limiterFor,
    (reason, _, isCharge) => refusalBy(reason, api, isCharge ? spentStatus : undefined),
  )

  return async (request, ...context) => {
    if (upstream) assertKey(upstream)
    const signal = lastingSignal(request)
    let body: unknown
    const prepare: Prepare<PreparedBody, unknown> = async (change) => {
      body ??= await readBody(request, options.maxBodyBytes)
      return prepareCall(change?.(body) ?? body, options, api, address)
    }
    const outcome = await stages(
      route,
      request,
      context,
      async (terms) => {
        assertPriced('modelHandler', terms.limiter, options)
        return orRefusal(route, admitCall(prepare, { ...terms, options })).catch(refusalOf)
      },
      () => withBody(request, JSON.stringify(body)),
    )
    if (outcome.kind === 'pass') return new Response(null, { status: 204 })
    if (outcome.kind === 'refuse') return outcome.response
    let { headers } = outcome
    let answer: Response
    try {
      const [answered] = await (options.fallbackModels?.send ?? sendCall)(
        outcome,
        (admitted, charged) => {
          if (admitted !== outcome) {
            headers = decideAnew(request, admitted.decision, options.headers)
          }
          const { bodyFor, model, url } = admitted.call
          const toSend = {
            body: bodyFor(admitted.output),
            signal: charged,
            api,
            model,
            subject: outcome.subject,
          }
          return typeof send === 'function'
            ? send(toSend, request, ...context)
            : callUpstream(url ?? send.url, send, toSend)
        },
        signal,
        // A function of the user's may have tried before.
        !!upstream,
      )
      answer = await hideOperator(answered, upstream?.key)
    } catch (error) {
      if (!signal.aborted) onError(error)
      const isEnd = options.fallbackModels && wasNeverSent(error)
      answer = errorResponse({ ...UNREACHABLE, ...(isEnd && { headers: NO_RETRY }) }, api)
    }
    return respond({ headers, call: undefined }, () => answer)
  }
}

/** Returns the answer to a call that is not sent. @param spentStatus Nobody pays for guesses: they have none. */
function refusalBy(
  reason: Refusal | DeniedDecision,
  api: ModelApi,
  spentStatus: CallOptions['spentStatus'],
): Response {
  return reason instanceof Refusal
    ? errorResponse(reason.options, api)
    : denialResponse(reason, api, spentStatus)
}
