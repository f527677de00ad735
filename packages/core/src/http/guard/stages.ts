import type { AllowedDecision, DeniedDecision } from '../../decision.ts'
import type { WaitUntil } from '../../internal/background.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { Subject } from '../../subject.ts'
import type { CallerOrDenial } from './caller.ts'
import type { GuardHooks, StageOptions } from './guard-options.ts'
import { headersFor, withHeaders } from '../headers/add-headers.ts'
import { waitUntilOf } from './context.ts'
import { keepDecision } from './decision-of.ts'
import { DEFAULT_MAX_DELAY_MS, delay } from './delay.ts'
import { isPreflight } from './preflight.ts'
import { Refusal, UNAUTHENTICATED } from '../answers/refusal.ts'
import { warnOfUnknownRoutes } from './unknown-routes.ts'

/** A request that its limiter allows. */
interface ChargedRequest {
  readonly allowed: true
  readonly decision: AllowedDecision
  /** Ends what a request holds whose client is gone. */
  readonly cancel?: (() => unknown) | undefined
}

/** The result of the stages: as that of a guard, with all that is known of a charge. */
export type Outcome<Charged extends ChargedRequest> =
  | { readonly kind: 'pass' }
  | RefusedOutcome
  | (Charged & {
      readonly kind: 'allow'
      readonly route: string
      readonly subject: Subject
      readonly headers: Readonly<Record<string, string>>
    })

interface RefusedOutcome {
  readonly kind: 'refuse'
  readonly response: Response
}

/** The request to decide on. */
interface Terms {
  readonly limiter: Limiter
  readonly subject: Subject
  readonly waitUntil: WaitUntil | undefined
}

/** Answers a refusal, or a denial that `onDenied` has not answered: of the charge, or of a guess. */
type Answer<PlatformRequest extends Request> = (
  reason: Refusal | DeniedDecision,
  request: PlatformRequest,
  isCharge: boolean,
) => Response

/**
 * Creates the stages of whatever limits requests: they let preflights pass, charge the limit on guesses, find the
 * subject, run the pre-filter, charge the request, answer a denial, and delay what is allowed. If the client is gone
 * then, nothing else runs.
 */
export function createStages<
  Context extends unknown[],
  PlatformRequest extends Request,
  Charged extends ChargedRequest,
>(
  {
    subject: findSubject,
    unauthenticated,
    preflight,
    waitUntil: ownWaitUntil,
    headers,
    maxDelayMs = DEFAULT_MAX_DELAY_MS,
    onDenied,
  }: StageOptions<Context, PlatformRequest>,
  limiterFor: (...context: Context) => Limiter,
  answer: Answer<PlatformRequest>,
  { keep, before }: GuardHooks<Context> = {},
) {
  const guardGuesses = unauthenticated?.around(keep)

  return async (
    route: string,
    request: PlatformRequest,
    context: Context,
    charge: (terms: Terms) => Promise<Charged | DeniedDecision | Refusal>,
    given: () => PlatformRequest = () => request,
  ): Promise<Outcome<Charged>> => {
    const refuse = async (
      reason: Refusal | DeniedDecision,
      isCharge: boolean,
    ): Promise<RefusedOutcome> => {
      const isRefusal = reason instanceof Refusal
      const own = isRefusal || !isCharge ? undefined : onDenied?.(reason, given(), ...context)
      const response = (await own) ?? answer(reason, request, isCharge)
      if (isRefusal) return { kind: 'refuse', response }
      const added = headersFor(request, reason, headers, response.status)
      return { kind: 'refuse', response: withHeaders(response, added) }
    }
    if (preflight === 'pass' && (await isPreflight(request))) return { kind: 'pass' }
    const waitUntil = ownWaitUntil ?? waitUntilOf(context)
    const find = async (): Promise<CallerOrDenial> => {
      const found = (await findSubject(request, ...context)) || UNAUTHENTICATED
      return found instanceof Refusal ? found : { allowed: true, subject: { ...found, route } }
    }
    const caller = await (guardGuesses?.(find, route, request, waitUntil, ...context) ?? find())
    if (!caller.allowed) return refuse(caller, false)
    const { subject, refund } = caller
    const limiter = limiterFor(...context)
    const charged =
      (await before?.(subject, ...context)) ?? (await charge({ limiter, subject, waitUntil }))
    await refund
    if (charged instanceof Refusal) return refuse(charged, true)
    warnOfUnknownRoutes(limiter, charged.allowed ? charged.decision : charged)
    if (!charged.allowed) return refuse(charged, true)
    const { decision } = charged
    // The client is gone: nobody reads the answer, and no handler runs.
    if (!(await delay(Math.min(maxDelayMs, decision.delayMs), request.signal))) {
      await charged.cancel?.()
      return { kind: 'refuse', response: new Response(null, { status: 499 }) }
    }
    keepDecision(request, decision)
    const added = headersFor(request, decision, headers)
    return { ...charged, kind: 'allow', route, subject, headers: added }
  }
}
