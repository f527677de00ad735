/* The terms of model calls, which all doors and lists of models share. */
import type { DeniedDecision, Limiter, Subject, WaitUntil } from '@sluice/core'
import type { ReserveDecision, ReserveOptions } from '@sluice/core/reservations'
import type { UsageFormat } from '../formats/format.ts'
import type { LearnedOutput } from '../policies/learned-output.ts'
import type { Usage } from '../usage.ts'
import type { ModelCall, PreparedModelCall } from './model-call.ts'
import type { CallTerms, Prepare, PreparedBody, PreparedCall } from './prepare.ts'

/** Options of every way to make a limited model call. */
export interface CallOptions
  extends CallTerms, Pick<ReserveOptions, 'settleWithin' | 'unsettled' | 'maxShare'> {
  /**
   * Reserves as much output as the latest answers had, created by `learnedOutput`. Not with `minOutput`.
   *
   * @default the maximum is reserved
   */
  readonly learn?: LearnedOutput
  /**
   * The models to call, in turn, if the budgets and limits have no room for the requested one, or its provider fails.
   * Created by `fallback` of `@sluice/ai/fallback`. @default none
   */
  readonly fallbackModels?: FallbackModels
  /**
   * The charge of an answer whose provider did not report its usage: `keep` the estimate, which is the most
   * that the call may have used, or charge what was `counted` while it passed, in which hidden
   * reasoning is missing. @default 'keep'
   */
  readonly onIncomplete?: 'keep' | 'counted'
  /**
   * The status of a denial by a used-up budget of a day, week, month or year, or by credits: 429, or 402 (Payment
   * Required), which asks the client to pay instead of to wait. @default 429
   */
  readonly spentStatus?: 402 | 429
  /** The largest body of a request, in bytes; a larger one is answered with 413. @default 4_000_000 */
  readonly maxBodyBytes?: number
  /**
   * The formats that answers may have beside those of OpenAI and Anthropic, from `@sluice/ai/formats`.
   *
   * @default none
   */
  readonly formats?: readonly UsageFormat[]
  /** Called once per call with its usage, after settling succeeded or failed. @default none */
  readonly onUsage?: (usage: Usage, subject: Subject) => unknown
  /** Called with faults in settling and metering. @default console.error */
  readonly onError?: (error: unknown) => void
}

/** The caller of a model, and the limits on it. */
export interface CallTenant {
  readonly limiter: Limiter
  readonly subject: Subject
  readonly options: CallOptions
  readonly waitUntil: WaitUntil | undefined
}

/** A call that a limiter has let in, charged at its estimate. */
export interface AdmittedCall<Call extends PreparedCall = PreparedCall> {
  readonly allowed: true
  readonly call: Call
  readonly tenant: CallTenant
  readonly decision: AdmittedDecision
  /** The output tokens that it may use, over all answers. */
  readonly output: number
  /** Gives back what a call used that the provider answered with an error. */
  failed(): void
  /**
   * Settles a call of which no answer came. The provider may have been at work, so the estimate stays, unless the
   * error proves that nothing was sent. Pass it only if it is of one `fetch`: what a user's function does before
   * it fails cannot be seen.
   */
  unanswered(error?: unknown): void
  /** Gives back everything that was charged for a call that was never sent. */
  cancel(): void
  /** Settles a usage that is known. */
  readonly settle: (usage: Usage) => Promise<void>
}

type AdmittedDecision = ReserveDecision & { readonly allowed: true }

/** Sends an admitted call by a signal, which shows that the call is charged. */
export type Send = (
  admitted: AdmittedCall<PreparedBody>,
  signal: AbortSignal,
) => Response | Promise<Response>

/** The answer to a call, and the call that was answered. */
export type Answered = readonly [Response, AdmittedCall<PreparedBody>]

/**
 * Sends a call, and returns the provider's answer.
 *
 * @param signal That of the client.
 * @param isOneFetch True if an error is that of one `fetch`. Another function may have tried before.
 */
export type SendCall = (
  admitted: AdmittedCall<PreparedBody>,
  send: Send,
  signal: AbortSignal | undefined,
  isOneFetch: boolean,
) => Promise<Answered>

/** The methods of a model of the AI SDK. */
export type ModelMethod = 'doGenerate' | 'doStream'

/** Calls a model of the AI SDK. @param sendOnce Calls one model, for lists of them. */
export type SendModel = (
  admitted: AdmittedCall<PreparedModelCall>,
  asked: ModelCall,
  method: ModelMethod,
  sendOnce: SendModel,
) => Promise<object>

/** The models to call instead of the requested one. Created by `fallback`. */
export interface FallbackModels {
  /** Throws a `ConfigError` if a door with these options can call one of the models in no case. */
  assertIn(door: string, options: CallTerms): void
  /** Admits the first model that every budget and limit has room for. */
  admit<Call extends PreparedCall, Asked>(
    call: Call,
    tenant: CallTenant,
    prepare: Prepare<Call, Asked>,
  ): Promise<AdmittedCall<Call> | DeniedDecision>
  /** Does what `sendCall` does, and calls the next model if the provider fails. */
  readonly send: SendCall
  /** Does what `sendModelCall` does, and calls the next model if the provider fails. */
  readonly sendModel: SendModel
}
