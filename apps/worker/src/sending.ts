import type { CallToSend } from '@sluice/ai'
import type { CallNotes } from './call-notes.ts'
import type { CallSettings } from './call-settings.ts'
import { CLOCK, endWhenIdle, type Clock } from './end-when-idle.ts'
import { errorAnswer, errorEvent } from './errors.ts'
import { createPauses } from './pauses.ts'
import { outcomeOf, type ProviderStates } from './provider-states.ts'
import { upstreamIdOf } from './request-id.ts'

/** The call was sent, and no answer came: the handler keeps the estimate of a call that throws. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/** A call to a provider. */
interface Call extends Pick<CallToSend, 'signal' | 'subject'> {
  /** True if the provider bills nothing for it. @default false */
  readonly isFree?: boolean
}

/** Sends a call to a provider. */
type Send = (signal: AbortSignal) => Promise<Response>

/**
 * Cloudflare's statuses for a request that may have reached the provider and has no answer of its own: a connection that
 * ended early (520), or took too long (522, 524). The others (521, 523, 525, 526, 530) come before a request is sent.
 * https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/
 */
const WITHOUT_ANSWER: ReadonlySet<number> = new Set([520, 522, 524])

const KEPT = ' Its estimate stays charged, because the provider may bill it.'

/** Creates a function that sends calls within their time, and pauses those to a provider that does not answer. */
export function createSending(
  { answerMs, idleMs, pauseMs, unanswered, incomplete }: CallSettings,
  states: ProviderStates,
  clock: Clock = CLOCK,
) {
  const pauses = createPauses(pauseMs, () => clock.now())

  return async (
    provider: string,
    { signal, subject, isFree = false }: Call,
    notes: CallNotes,
    send: Send,
  ): Promise<Response> => {
    const tenant = String(subject['tenant'])
    const isKept = unanswered === 'keep' && !isFree
    notes.provider = provider
    notes.sentAt ??= clock.now()
    // Another provider may have refused the call before.
    notes.outcome = undefined
    notes.upstreamId = undefined

    /** Ends a call without an answer of the provider. */
    function give(outcome: 'unreachable' | 'timed_out', message: string): Response {
      states.note(provider, outcome)
      notes.outcome = outcome
      const [status, code] =
        outcome === 'timed_out' ? [504, 'upstream_timeout'] : [502, 'upstream_unavailable']
      // A retry may be billed twice, so the client decides on it.
      const retry = isKept ? undefined : { 'retry-after': '1' }
      const answer = errorAnswer(status, code, isKept ? message + KEPT : message, retry)
      if (!isKept) return answer
      notes.answer = answer
      notes.charged = notes.reserved ?? {}
      throw new Unanswered(message)
    }

    const waitMs = pauses.wait(tenant, provider)
    if (waitMs > 0) {
      notes.outcome = 'paused'
      const message =
        'The model was unreachable a moment ago. Nothing was sent, and nothing is charged.'
      const wait = { 'retry-after': String(Math.ceil(waitMs / 1_000)) }
      return errorAnswer(503, 'upstream_paused', message, wait)
    }

    const late = new AbortController()
    const leftMs = Math.max(0, notes.sentAt + answerMs - clock.now())
    const stop = clock.after(leftMs, () => late.abort())
    let answer
    try {
      answer = await send(AbortSignal.any([signal, late.signal]))
    } catch (error) {
      if (signal.aborted) {
        notes.outcome = 'client_gone'
        notes.charged = notes.reserved ?? {}
        throw error
      }
      if (late.signal.aborted) {
        return give('timed_out', `The model has not begun to answer within ${answerMs / 1_000} s.`)
      }
      pauses.failed(tenant, provider)
      return give('unreachable', 'The model is unreachable.')
    } finally {
      stop()
    }
    if (WITHOUT_ANSWER.has(answer.status)) {
      await answer.body?.cancel()
      pauses.failed(tenant, provider)
      return give('unreachable', 'The model is unreachable.')
    }
    pauses.answered(tenant, provider)
    states.note(provider, outcomeOf(answer.status))
    notes.upstreamId = upstreamIdOf(answer)
    if (!answer.ok) notes.outcome = 'error'
    if (answer.body === null) return answer
    notes.isRunning = answer.ok && !isFree
    return limitIdle(answer, answer.body)
  }

  function limitIdle(answer: Response, body: ReadableStream<Uint8Array>): Response {
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
    const charge = incomplete === 'keep' ? KEPT : ' The tokens that have passed are charged.'
    const message = `The model has stopped sending for ${idleMs / 1_000} s.${charge}`
    const last = () => (isStream ? errorEvent('upstream_timeout', message) : undefined)
    const { status, headers } = answer
    return new Response(endWhenIdle(body, idleMs, last, clock), { status, headers })
  }
}
