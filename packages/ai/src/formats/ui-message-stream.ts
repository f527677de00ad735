import { objectOf } from '../json.ts'
import { reportedIn } from './provider-usage.ts'
import type { AnswerEvent, ReportedUsage, UsageFormat } from './format.ts'
import { textsOf } from './tool-arguments.ts'

const CHUNK =
  /^(start|finish|abort|error|file|reasoning-file|message-metadata|(start|finish)-step|(text|reasoning)-(start|delta|end)|tool-(input|output|approval)-.+|source-.+|data-.+)$/

/**
 * Streams that the AI SDK sends to a user interface (`toUIMessageStreamResponse`, version 5 and later). Their
 * usage is that of your own metadata: send `{ usage: part.totalUsage }` with the part `finish`.
 * https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
 */
export const uiMessageStream: UsageFormat = {
  fields: ['messageMetadata'],
  read({ type, delta, inputTextDelta, toolName, input, messageMetadata }): AnswerEvent | undefined {
    if (typeof type !== 'string' || !CHUNK.test(type)) return undefined
    // The parts of `fullStream` have types of these names, and other members.
    if (type.endsWith('-delta') && typeof (delta ?? inputTextDelta) !== 'string') return undefined
    const { model, usage, totalUsage } = objectOf(messageMetadata)
    return {
      model,
      text: [delta, inputTextDelta, toolName, textsOf(input)],
      usage: type === 'finish' ? usageIn(totalUsage ?? usage) : undefined,
    }
  },
}

function usageIn(usage: unknown): ReportedUsage | undefined {
  const { inputTokens, outputTokens, cachedInputTokens, inputTokenDetails } = objectOf(usage)
  const { cacheReadTokens, cacheWriteTokens } = objectOf(inputTokenDetails)
  return reportedIn({
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    cache_read_input_tokens: cacheReadTokens ?? cachedInputTokens,
    cache_creation_input_tokens: cacheWriteTokens,
  })
}
