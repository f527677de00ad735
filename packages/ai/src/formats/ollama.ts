import { objectOf, objectsIn } from '../json.ts'
import { isCount, units } from './provider-usage.ts'
import type { AnswerEvent, UsageFormat } from './format.ts'
import { textsOf } from './tool-arguments.ts'

/**
 * Answers of Ollama's own API (`/api/chat`, `/api/generate`, `/api/embed`), as JSON and as lines of JSON.
 * https://docs.ollama.com/api/chat
 */
export const ollama: UsageFormat = {
  fields: ['done', 'created_at', 'prompt_eval_count', 'eval_count'],
  read(event): AnswerEvent | undefined {
    const { model, done, message, response, thinking, prompt_eval_count: input } = event
    const isEmbedding = done === undefined && isCount(input)
    const isAnswer = typeof done === 'boolean' && 'created_at' in event
    if (!isAnswer && !isEmbedding) return undefined
    const output = isEmbedding ? 0 : event['eval_count']
    const calls = objectOf(message)['tool_calls']
    const inputs = objectsIn(calls).map((call) => textsOf(objectOf(call['function'])['arguments']))
    return {
      model,
      text: [response, thinking, message, inputs],
      usage: { input: units(input), ...(isCount(output) && { output }) },
      isFinal: done !== false,
      isLast: done === true,
    }
  },
}
