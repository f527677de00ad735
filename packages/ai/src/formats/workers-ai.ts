import { isObject, type Json } from '../json.ts'
import { reportedIn } from '../provider-usage.ts'
import type { AnswerEvent, UsageFormat } from './format.ts'
import { readStandard } from './standard.ts'
import { textsOf } from './tool-arguments.ts'

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
    // Others have a `response` as well, beside a type (OpenAI) or a state (Ollama).
    if (!('response' in event) || 'type' in event || 'done' in event) return undefined
    return contentOf(event)
  },
}

function contentOf({ model, response, tool_calls: calls, usage }: Json): AnswerEvent {
  return { model, text: [textsOf(response), textsOf(calls)], usage: reportedIn(usage) }
}
