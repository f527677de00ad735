import { modelMeter } from '../meter/ai-sdk.ts'
import { chargedSignal } from './charged-signal.ts'
import type { SendModel } from './options.ts'

/** Calls a model of the AI SDK with the output that is granted, and settles the usage of its answer. */
export const sendModelCall: SendModel = ({ call, tenant, output, settle }, asked, method) => {
  const { target: model, thinking, input } = call
  const { limiter, waitUntil, options } = tenant
  const meter = modelMeter({
    settle,
    inputTokens: input,
    waitUntil,
    onError: options.onError,
  })
  const answer = (): PromiseLike<never> =>
    model[method]({
      ...asked,
      abortSignal: chargedSignal(limiter, asked.abortSignal),
      maxOutputTokens: output - thinking,
    }) as PromiseLike<never>
  return method === 'doStream'
    ? meter.wrapStream({ doStream: answer, model })
    : meter.wrapGenerate({ doGenerate: answer, model })
}
