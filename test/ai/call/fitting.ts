import { modelHandler, type CallToSend } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { PRICES, subject } from '../doors.ts'

/** The tokens of output that a body allows one answer. */
export const maximumOf = (body: string): number =>
  Number((JSON.parse(body) as Record<string, unknown>)['max_completion_tokens'])

/** An answer that used so many tokens. */
export const answerOf = (completion: number, prompt = 20): Response =>
  Response.json({
    model: 'gpt-4o',
    choices: [{ message: { content: 'Because.' } }],
    usage: { prompt_tokens: prompt, completion_tokens: completion },
  })

/** A handler over a budget of so many micro-dollars a day, and what it sends. */
export function fitting(
  limiter: Limiter,
  options: object = {},
  answer = ({ body }: CallToSend) => answerOf(maximumOf(body)),
) {
  const calls: CallToSend[] = []
  const handle = modelHandler(
    limiter,
    { subject, api: 'openai-chat', prices: PRICES, minOutput: 100, maxOutput: 1_000, ...options },
    (call) => {
      calls.push(call)
      return answer(call)
    },
  )
  return { calls, handle }
}
