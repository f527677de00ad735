import { isObject, type Json } from '../json.ts'
import { reportedIn } from './provider-usage.ts'
import type { AnswerEvent, UsageFormat } from './format.ts'
import { readStandard } from './standard.ts'
import { textsOf } from './tool-arguments.ts'

/** The members of events that have a `response` in other formats: OpenAI's, Cohere's and Ollama's. */
const OTHERS = ['type', 'event_type', 'done']

/**
 * Answers of Cloudflare's Workers AI: JSON of its REST API (`{ result }`) and of its binding, and its
 * server-sent events.
 * https://developers.cloudflare.com/workers-ai/models
 */
export const workersAi: UsageFormat = {
  fields: ['result.usage', 'result.model', 'success'],
  read(event): AnswerEvent | undefined {
    const { result } = event
    if (isObject(result) && 'success' in event) return readStandard(result) ?? contentOf(result)
    const isOther = OTHERS.some((name) => name in event)
    return 'response' in event && !isOther ? contentOf(event) : undefined
  },
}

function contentOf({ model, response, tool_calls: calls, usage }: Json): AnswerEvent {
  return { model, text: [textsOf(response), textsOf(calls)], usage: reportedIn(usage) }
}
