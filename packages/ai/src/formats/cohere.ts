import { isObject, objectOf, type Json } from '../json.ts'
import { isCount, units } from './provider-usage.ts'
import type { AnswerEvent, ReportedUsage, UsageFormat } from './format.ts'
import { textsOf } from './tool-arguments.ts'

const V2_EVENT = /^(message|content|tool-plan|tool-call|citation)-(start|delta|end)$/
/** Google's interactions have an `event_type`, too. */
const V1_EVENT =
  /^(stream-(start|end)|search-(queries-generation|results)|(text|citation|tool-calls)-generation|tool-calls-chunk)$/

/**
 * Answers of Cohere, version 2 and 1: chat, as JSON and as a stream, and embeddings. The tokens are those
 * that are billed. Cohere does not name the model.
 * https://docs.cohere.com/reference/chat
 */
export const cohere: UsageFormat = {
  fields: ['meta', 'delta.usage', 'event_type', 'response.meta'],
  read(event): AnswerEvent | undefined {
    const { type, usage, meta, message, text } = event
    const { message: said, usage: total } = objectOf(event['delta'])
    const isWhole = isObject(said) || String(type).endsWith('end')
    if (typeof type === 'string' && V2_EVENT.test(type) && isWhole) {
      return { text: messageTexts(said), usage: usageIn(total), isLast: type === 'message-end' }
    }
    const { event_type: v1 } = event
    if (typeof v1 === 'string' && V1_EVENT.test(v1)) {
      const isLast = v1 === 'stream-end'
      const calls = [event['tool_calls'], event['tool_call_delta']].map(textsOf)
      return { text: [text, calls], usage: usageIn(objectOf(event['response'])['meta']), isLast }
    }
    const billed = usageIn(usage) ?? usageIn(meta)
    if (billed === undefined) return undefined
    return { text: [text, messageTexts(message), textsOf(event['tool_calls'])], usage: billed }
  },
}

function messageTexts(message: unknown): unknown[] {
  return [message, objectOf(message)['tool_plan']]
}

function usageIn(usage: unknown): ReportedUsage | undefined {
  const { billed_units: billed, tokens, cached_tokens: cached } = objectOf(usage)
  const counts = [billed, tokens].filter(isObject).find((one) => isCount(one['input_tokens']))
  if (counts === undefined) return undefined
  const { input_tokens: input, output_tokens: output }: Json = counts
  // Embeddings have no output.
  return {
    input: units(input),
    cachedInput: Math.min(units(input), units(cached)),
    output: units(output),
  }
}
