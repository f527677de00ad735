import { meter } from '@sluice/ai'
import type { Call } from './calls'
import { answer, costOf, countWords } from './model'

interface StreamOptions {
  readonly maxTokens: number
  readonly settlesPartialAnswers: boolean
  /** Settles the reservation of the call with its real cost in micro-dollars. */
  readonly settle: (usd: number) => Promise<unknown>
}

/** Streams the answer to one call until its fate. Resolves to the provider's bill in micro-dollars. */
export async function streamAnswer(call: Call, options: StreamOptions): Promise<number> {
  const { response, billed } = answer(call, options.maxTokens)
  let settled: Promise<unknown> | undefined
  let fault: Error | undefined
  const { body } = meter(response, {
    inputTokens: call.input,
    count: countWords,
    settle: ({ complete, input, output }) =>
      complete || options.settlesPartialAnswers ? options.settle(costOf(input, output)) : undefined,
    waitUntil(promise) {
      settled = promise
    },
    onError(error) {
      fault = new Error('The call cannot be settled', { cause: error })
    },
  })
  if (body === null) throw new Error('The stand-in has sent no answer')
  const reader = body.getReader()
  if (call.fate !== 'whole') {
    await reader.read()
    await reader.read()
    // A process that dies neither reads on nor cancels: nothing settles.
    if (call.fate === 'lost') return billed()
    await reader.cancel()
  }
  while (!(await reader.read()).done);
  await settled
  if (fault) throw fault
  return billed()
}
