/* The models of a list that are called, one after the other, until a provider does its work. */
import { copyResponse, delay } from '@sluice/core/internal/http'
import { isObject, objectOf, type Json } from '../json.ts'
import { countRequest } from '../call/admission.ts'
import { chargedSignal } from '../call/charged-signal.ts'
import type { LadderCall } from './ladder.ts'
import type { ModelCall, PreparedModelCall } from '../call/model-call.ts'
import { wasNeverSent } from '../call/never-sent.ts'
import type { PreparedBody, PreparedCall } from '../call/prepare.ts'
import type { AdmittedCall, Answered, ModelMethod, Send, SendModel } from '../call/options.ts'
import { meterAnswer } from '../call/send.ts'

/**
 * The statuses by which a provider refuses a call that it does not bill; 529 is Anthropic's for overload:
 * https://learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/anthropic-529-overloaded-error, read on 2026-11-29.
 * Others, such as 502, 504 and Cloudflare's 52x, are those of something in between, behind which the provider may be at work.
 */
const REFUSALS: ReadonlySet<unknown> = new Set([429, 500, 503, 529])

/** Returns true if a provider refuses the call itself: something in between answers with a page or a text. */
const isRefusal = (status: unknown, type: unknown): boolean =>
  REFUSALS.has(status) && /^application\/(problem\+)?json/.test(String(type))

/** The longest that a call is delayed where a policy asks for it, as `modelHandler` does by default. */
const MAX_DELAY_MS = 30_000

/**
 * Gives a call back that its provider has refused, and admits it by the next model. If the store does not answer, the
 * charge stays for now. Returns `undefined` if there is no model, or no room for one.
 */
async function nextOf<Call extends PreparedCall>(
  failed: LadderCall<Call>,
  signal: AbortSignal | undefined,
): Promise<LadderCall<Call> | undefined> {
  const { tenant, decision } = failed
  try {
    const { storeFailed } = await decision.cancel()
    if (storeFailed) failed.cancel()
  } catch {
    failed.cancel()
  }
  signal?.throwIfAborted()
  const next = await failed.next?.()
  if (!next?.allowed) {
    // Errors are not free to repeat.
    await countRequest(tenant)
    return undefined
  }
  if (await delay(Math.min(MAX_DELAY_MS, next.decision.delayMs), signal)) return next
  next.cancel()
  signal?.throwIfAborted()
  return undefined
}

/** Sends a call, and if its provider refuses it, by the next model. */
export async function sendDown(
  first: AdmittedCall<PreparedBody>,
  send: Send,
  signal: AbortSignal | undefined,
  isOneFetch: boolean,
): Promise<Answered> {
  let admitted = first as LadderCall<PreparedBody>
  for (;;) {
    let answer: Response | undefined
    let failure: unknown
    try {
      answer = await send(admitted, chargedSignal(admitted.tenant.limiter, signal))
    } catch (error) {
      failure = error
    }
    const wasRefused = answer
      ? isRefusal(answer.status, answer.headers.get('content-type'))
      : isOneFetch && wasNeverSent(failure)
    const mayFall = wasRefused && !signal?.aborted && admitted.next
    const next = mayFall ? await nextOf(admitted, signal) : undefined
    if (next) {
      void answer?.body?.cancel().catch(() => undefined)
      admitted = next
      continue
    }
    if (!answer) {
      if (!mayFall) admitted.unanswered(isOneFetch && failure)
      throw failure
    }
    const metered = mayFall ? answer : meterAnswer(answer, admitted, signal)
    return [labelled(metered, admitted, wasRefused), admitted]
  }
}

/** Names the model that has answered instead of the requested one. The official clients repeat no call at the end of the list. */
function labelled(
  answer: Response,
  { call, hasOthers, isOther }: LadderCall<PreparedBody>,
  wasRefused: boolean,
): Response {
  if (!hasOthers || (!isOther && !wasRefused)) return answer
  const copy = copyResponse(answer)
  if (isOther) copy.headers.set('x-sluice-model', call.model)
  if (wasRefused || !answer.ok) copy.headers.set('x-should-retry', 'false')
  return copy
}

/** Calls a model of the AI SDK, and if its provider refuses it, the next one. */
export async function sendModelDown(
  first: AdmittedCall<PreparedModelCall>,
  asked: ModelCall,
  method: ModelMethod,
  sendOnce: SendModel,
): Promise<object> {
  const { abortSignal } = asked
  let admitted = first as LadderCall<PreparedModelCall>
  for (;;) {
    const { settle, hasOthers, isOther, next } = admitted
    let decide: ((isSettled: boolean) => void) | undefined
    const isSettled = new Promise<boolean>((resolve) => (decide = resolve))
    const settling = async (usage: Parameters<typeof settle>[0]): Promise<void> => {
      if (await isSettled) await settle(usage)
    }
    try {
      const result = await sendOnce({ ...admitted, settle: settling }, asked, method, sendOnce)
      decide?.(true)
      return method === 'doGenerate' ? named(result, admitted) : result
    } catch (error) {
      const wasRefused = isSdkRefusal(objectOf(error)) && !abortSignal?.aborted
      const mayFall = wasRefused && next
      decide?.(!mayFall)
      const other = mayFall ? await nextOf(admitted, abortSignal) : undefined
      if (!other) {
        // The SDK repeats a call by itself, from the first model on.
        if (isOther || (wasRefused && hasOthers))
          Object.assign(error as object, { isRetryable: false })
        throw error
      }
      admitted = other
    }
  }
}

/** Returns true for an error of the AI SDK by which a provider refuses a call. An answer that begins with an error is billed. */
function isSdkRefusal({ statusCode, responseHeaders, responseBody }: Json): boolean {
  const { 'content-type': type } = objectOf(responseHeaders)
  return isRefusal(statusCode, type) && !/"object":\s*"response"/.test(String(responseBody))
}

/** Names the model of an answer, if its provider does not. */
function named(result: object, { call, isOther }: LadderCall<PreparedModelCall>): object {
  const { response } = result as { readonly response?: unknown }
  if (!isOther || objectOf(response)['modelId'] !== undefined) return result
  const names = { modelId: call.target.modelId }
  return { ...result, response: isObject(response) ? { ...response, ...names } : names }
}
