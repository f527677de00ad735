import { ConfigError, StoreError, type Subject } from '@sluice/core'
import type { CallToSend, ModelHandlerOptions, Prices } from '@sluice/ai'
import { decisionOf, Refusal } from '@sluice/core/http'
import { chargedFor, createCallLog } from './call-log.ts'
import { notesOf, reservedBy, withNotes, type CallNotes } from './call-notes.ts'
import type { CallSettings } from './call-settings.ts'
import { errorAnswer } from './errors.ts'
import { finish } from './finish.ts'
import type { KeyVerifier } from './keys.ts'
import type { ProviderInUse } from './providers/in-use.ts'
import { createProviderStates } from './provider-states.ts'
import { createSending, Unanswered } from './sending.ts'

/** The values that handlers get beside a request. */
export type CallContext = [notes: CallNotes, ctx: RequestContext]

/** The part of an `ExecutionContext` that handlers use. */
interface RequestContext {
  waitUntil(promise: Promise<unknown>): void
}

/** Creates the parts that all calls share: their records, their time, and the advice to their clients. */
export function createCalls(settings: CallSettings) {
  const states = createProviderStates()
  const sendTo = createSending(settings, states)
  const log = createCallLog(settings)

  /** Returns the options of a handler. @param prices Those of its provider. */
  const options = (prices: Prices) =>
    ({
      maxBodyBytes: settings.maxBodyBytes,
      onIncomplete: settings.incomplete,
      onUsage(usage, subject) {
        const notes = notesOf(subject)
        if (notes?.isRunning !== true) return undefined
        const usd = Math.max(usage.cost ?? 0, prices.priceOf(usage, usage.model, notes.model))
        const isCounted = usage.complete || settings.incomplete === 'counted'
        notes.charged = chargedFor(usage, usd, isCounted ? {} : notes.reserved)
        notes.outcome ??= usage.complete ? 'answered' : 'incomplete'
        return log(notes, 200)
      },
      onError: reportError,
    }) satisfies Partial<ModelHandlerOptions>

  return {
    states,
    options,

    /** Finds the subject of a request, and notes it. */
    subject:
      (verify: KeyVerifier) =>
      async (request: Request, notes: CallNotes): Promise<Subject | Refusal> => {
        const found = await verify(request)
        if (found instanceof Refusal) return found
        notes.subject = found
        return withNotes(found, notes)
      },

    /** Sends a call to a provider, with the id of its request. */
    async send(
      { id, secret }: ProviderInUse,
      call: Pick<CallToSend, 'signal' | 'subject'> & { model?: string; isFree?: boolean },
      request: Request,
      notes: CallNotes,
      send: (signal: AbortSignal, headers: Headers) => Response | Promise<Response>,
    ): Promise<Response> {
      const decision = decisionOf(request)
      if (decision) notes.reserved = reservedBy(decision)
      if (call.model !== undefined) notes.model = call.model
      const headers = new Headers(request.headers)
      headers.set('x-client-request-id', notes.id)
      return sendTo(secret ? id : 'stand-in', call, notes, async (signal) => send(signal, headers))
    },

    /** Serves a request. Its line is logged now, or once its answer has passed. */
    async serve(
      notes: CallNotes,
      ctx: RequestContext,
      handle: () => Response | Promise<Response>,
    ): Promise<Response> {
      let answer
      try {
        answer = finish(await handle(), notes)
      } catch (error) {
        reportError(error)
        answer = finish(errorAnswer(500, 'internal_error', 'The gateway has failed.'), notes)
      }
      if (notes.isRunning !== true) ctx.waitUntil(log(notes, answer.status))
      return answer
    },
  }
}

/** Errors of other kinds may quote a call. */
function reportError(error: unknown): void {
  if (error instanceof Unanswered) return
  const isOurs = error instanceof ConfigError || error instanceof StoreError
  const name = error instanceof Error ? error.name : typeof error
  console.error(JSON.stringify({ problem: isOurs ? error.message : name }))
}
