import type { DeniedDecision, Limiter, Subject, WaitUntil } from '@sluice/core'
import { denialBody } from '@sluice/core/http'
import { assertMaxDelay, delay, withDecision } from '@sluice/core/internal/http'
import { hasMethod } from '@sluice/core/internal'
import { denialResponse } from '../call/denial.ts'
import { admitCall } from '../call/admission.ts'
import type { CallOptions, ModelMethod } from '../call/options.ts'
import {
  prepareModelCall,
  type AiSdkModel,
  type ModelCall,
  type PreparedModelCall,
} from '../call/model-call.ts'
import { assertClientOptions } from '../call/rules.ts'
import { sendModelCall } from '../call/send-model.ts'

/** Options of `limitedModel`. */
export interface LimitedModelOptions extends Omit<
  CallOptions,
  'maxBodyBytes' | 'formats' | 'includeUsage'
> {
  /** The subject of the calls, or a function that returns it at each call. */
  readonly subject: Subject | (() => Subject | Promise<Subject>)
  /** The longest that an allowed call is delayed where a policy asks for it, in milliseconds. @default 30_000 */
  readonly maxDelayMs?: number
  /**
   * Returns an error to throw for a denied call instead of `ModelCallDenied`, or `undefined`. An error
   * that it throws is not caught.
   */
  readonly onDenied?: (
    decision: DeniedDecision,
    subject: Subject,
  ) => Error | undefined | Promise<Error | undefined>
  /** Keeps work alive past the response: `(promise) => ctx.waitUntil(promise)`. @default none */
  readonly waitUntil?: WaitUntil
}

/** A wait that is longer is no reason to try again. */
const LONG_WAIT_MS = 60_000

/** The marks by which every version of the SDK knows its own errors. */
const AI_SDK_MARKS: object = {
  [Symbol.for('vercel.ai.error')]: true,
  [Symbol.for('vercel.ai.error.AI_APICallError')]: true,
}

/**
 * Thrown for a model call that a limit denies, before anything is sent. The AI SDK takes it for an error of
 * the provider with status 429: it waits and tries again if the wait is short, and gives up if it is not.
 */
export class ModelCallDenied extends Error {
  override readonly name = 'ModelCallDenied'
  readonly #decision: DeniedDecision
  readonly statusCode: number
  /** True if trying again soon may help. */
  readonly isRetryable: boolean
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly url = ''
  readonly requestBodyValues: Readonly<Record<string, never>> = {}
  constructor(decision: DeniedDecision, spentStatus?: 402 | 429) {
    const answer = withDecision(denialResponse(decision, 'openai-chat', spentStatus), decision, {
      headers: new Headers(),
    })
    super(denialBody(decision).message)
    this.#decision = decision
    this.statusCode = answer.status
    this.responseHeaders = Object.fromEntries(answer.headers)
    const { retryAfterMs } = decision
    this.isRetryable =
      answer.status !== 402 && retryAfterMs !== null && retryAfterMs <= LONG_WAIT_MS
    Object.assign(this, AI_SDK_MARKS)
  }

  /** The decision. Not a property of its own, so that a log of the error does not print all of it. */
  get decision(): DeniedDecision {
    return this.#decision
  }
}

/**
 * A language model of the AI SDK (`ai` 5, 6 and 7) held to a limiter's policies: every call, also each step
 * of an agent, reserves the most that it may use and settles what it used.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const model = limitedModel(openai('gpt-4o'), limiter, { subject: { tenant }, prices: LIST_PRICES })
 * const { text } = await generateText({ model, prompt })
 */
export function limitedModel<Model extends AiSdkModel>(
  model: Model,
  limiter: Limiter,
  options: LimitedModelOptions,
): Model {
  const mustBe = 'a model of the AI SDK, such as openai("gpt-6-luna")'
  hasMethod('doGenerate', mustBe)('limitedModel.model', model)
  assertClientOptions('limitedModel', limiter, options, { maxDelayMs: assertMaxDelay })
  const { maxDelayMs = 30_000, subject, waitUntil } = options

  const send =
    (method: ModelMethod) =>
    async (call: ModelCall): Promise<unknown> => {
      const caller = typeof subject === 'function' ? await subject() : subject
      const admitted = await admitCall<PreparedModelCall, AiSdkModel>(
        (change) => prepareModelCall(change?.(model) ?? model, call, options),
        {
          limiter,
          subject: caller,
          options,
          waitUntil,
        },
      )
      if (!admitted.allowed) {
        const error = await options.onDenied?.(admitted, caller)
        throw error ?? new ModelCallDenied(admitted, options.spentStatus)
      }
      if (!(await delay(Math.min(maxDelayMs, admitted.decision.delayMs), call.abortSignal))) {
        admitted.cancel()
        call.abortSignal?.throwIfAborted()
      }
      return (options.fallbackModels?.sendModel ?? sendModelCall)(
        admitted,
        call,
        method,
        sendModelCall,
      )
    }

  const limited: AiSdkModel = {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    doGenerate: send('doGenerate'),
    doStream: send('doStream'),
  }
  const urls = 'supportedUrls'
  return Object.defineProperty(limited, urls, {
    get: () => (model as { [urls]?: unknown })[urls],
    enumerable: true,
  }) as Model
}
