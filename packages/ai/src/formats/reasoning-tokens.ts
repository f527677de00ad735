import { objectOf, objectsIn, type Json } from '../json.ts'
import { reportedIn, units } from './provider-usage.ts'
import type { AnswerEvent, UsageFormat } from './format.ts'
import { readStandard } from './standard.ts'

/**
 * The formats of OpenAI, and those like them, with `reasoning` in their usage: the output tokens that are hidden.
 * Their charge does not depend on it, because `output` includes them.
 *
 * @example
 * const onUsage = modelTelemetry({ provider: 'openai' })
 * modelHandler(limiter, { subject, prices, onUsage, formats: [reasoningTokens] }, openai)
 */
export const reasoningTokens: UsageFormat = {
  read(event) {
    const places = [event, ...objectsIn(event['choices']), event['x_groq'], event['response']]
    const reasoning = Math.max(...places.map((place) => reasoningIn(objectOf(place)['usage'])))
    // Any other event is left to the formats after this one.
    if (reasoning === 0) return undefined
    const content = event['object'] === 'response' ? responseOf(event) : readStandard(event)
    return content?.usage && { ...content, usage: { ...content.usage, reasoning } }
  },
}

/** Reads a response that is not streamed, which is no event. */
function responseOf(event: Json): AnswerEvent {
  const { model, output, usage } = event
  return { model, text: output, usage: reportedIn(usage, event) }
}

function reasoningIn(usage: unknown): number {
  const tokens: Json = objectOf(usage)
  // Perplexity writes it beside the other numbers.
  const details = tokens['completion_tokens_details'] ?? tokens['output_tokens_details'] ?? tokens
  return units(objectOf(details)['reasoning_tokens'])
}
