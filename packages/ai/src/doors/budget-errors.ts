/* The errors of a client with a budget. They name `withBudget` and its options. */
import { ConfigError } from '@sluice/core'
import type { AiSdkModel } from '../call/model-call.ts'

/** Returns the text for a request without a price, to a client of OpenAI's or Anthropic's SDK. */
export const unpricedByClient = (method: string): string =>
  `withBudget refuses this ${method}: it is no model call that has a price, and may cost something. To send it without a charge, use the client that withBudget was given.`

/** Returns a limited model whose errors are explained. */
export function explainedModel(limited: AiSdkModel): AiSdkModel {
  const explained =
    (method: 'doGenerate' | 'doStream') =>
    async (call: unknown): Promise<unknown> => {
      try {
        return await limited[method](call)
      } catch (error) {
        throw inOwnWords(error)
      }
    }
  const methods = { doGenerate: explained('doGenerate'), doStream: explained('doStream') }
  // The model reads some of its properties when it is asked for them.
  return Object.defineProperties(methods, {
    ...Object.getOwnPropertyDescriptors(limited),
    ...Object.getOwnPropertyDescriptors(methods),
  }) as unknown as AiSdkModel
}

function inOwnWords(error: unknown): unknown {
  if (error instanceof ConfigError) {
    const { code, option, reason } = error
    return new ConfigError(code, option.replace(/^limitedModel/, 'withBudget'), reason)
  }
  return error
}
