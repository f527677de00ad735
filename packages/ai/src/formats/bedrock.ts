import { isObject, objectOf, objectsIn, type Json } from '../json.ts'
import { isCount, reportedIn, units } from './provider-usage.ts'
import { eventStreamDecoder } from './event-stream.ts'
import type { AnswerEvent, ReportedUsage, UsageFormat } from './format.ts'
import { readStandard } from './standard.ts'
import { textsOf } from './tool-arguments.ts'

/** The events of `ConverseStream`, and what a stream may break off with. */
const CONVERSE_EVENT =
  /^(messageStart|contentBlock(Start|Delta|Stop)|messageStop|metadata|\w+Exception)$/

/** Bedrock adds it to the last event of a stream, whatever the model's own format. */
const METRICS = 'amazon-bedrock-invocationMetrics'

/**
 * Answers of Amazon Bedrock: `Converse` and `InvokeModel` as JSON, `ConverseStream` and
 * `InvokeModelWithResponseStream` as the binary event stream. Bedrock does not name the model.
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html
 */
export const bedrock: UsageFormat = {
  fields: [
    'stopReason',
    'metadata.usage',
    METRICS,
    'prompt_token_count',
    'generation_token_count',
    'stop_reason',
    'inputTextTokenCount',
    'results.*.tokenCount',
  ],
  decoder: (firstByte) => (firstByte === 0 ? eventStreamDecoder() : undefined),
  read(event): AnswerEvent | undefined {
    const metrics = event[METRICS]
    // Anthropic's events report the usage and the cache themselves.
    if ('type' in event) return undefined
    if (isObject(metrics)) {
      return { ...contentOf(event), usage: usageInMetrics(metrics), isFinal: true, isLast: true }
    }
    return contentOf(event)
  },
}

function contentOf(event: Json): AnswerEvent | undefined {
  const names = Object.keys(event).filter((name) => name !== METRICS)
  if (names.length > 0 && names.every((name) => CONVERSE_EVENT.test(name))) {
    return converseEvent(event)
  }
  const { output, stopReason, usage } = event
  const { message } = objectOf(output)
  if (isObject(message) || typeof stopReason === 'string') {
    const { content } = objectOf(message)
    const blocks = Array.isArray(content) ? content.filter(isObject) : []
    return { text: blocks.map(textsOfBlock), usage: converseUsage(usage) }
  }
  return nativeEvent(event) ?? readStandard(event)
}

function converseEvent(event: Json): AnswerEvent {
  const { contentBlockStart, contentBlockDelta, metadata } = event
  return {
    text: [
      textsOfBlock(objectOf(objectOf(contentBlockStart)['start'])),
      textsOfBlock(objectOf(objectOf(contentBlockDelta)['delta'])),
    ],
    usage: converseUsage(objectOf(metadata)['usage']),
    isLast: metadata !== undefined,
  }
}

function textsOfBlock({ text, toolUse, reasoningContent }: Json): unknown[] {
  const { name, input } = objectOf(toolUse)
  const { text: thought, reasoningText } = objectOf(reasoningContent)
  return [text, name, textsOf(input), thought, objectOf(reasoningText)['text']]
}

function converseUsage(usage: unknown): ReportedUsage | undefined {
  const { cacheDetails } = objectOf(usage)
  const long = objectsIn(cacheDetails)
    .filter(({ ttl }) => ttl === '1h')
    .map(({ inputTokens }) => units(inputTokens))
  const reported = reportedIn(usage)
  return reported && { ...reported, longCacheWrite: long.reduce((sum, tokens) => sum + tokens, 0) }
}

function usageInMetrics(metrics: Json): ReportedUsage {
  const cachedInput = units(metrics['cacheReadInputTokenCount'])
  const cacheWrite = units(metrics['cacheWriteInputTokenCount'])
  const input = units(metrics['inputTokenCount']) + cachedInput + cacheWrite
  return { input, cachedInput, cacheWrite, output: units(metrics['outputTokenCount']) }
}

/** Reads the models that have a format of their own on Bedrock: Llama and Titan. */
function nativeEvent(event: Json): AnswerEvent | undefined {
  const { generation, prompt_token_count: prompt, generation_token_count: generated } = event
  if (generation !== undefined || isCount(generated)) {
    const usage = isCount(generated) ? { input: units(prompt), output: generated } : undefined
    return { text: generation, usage, isFinal: typeof event['stop_reason'] === 'string' }
  }
  const { outputText, inputTextTokenCount: input } = event
  if (outputText === undefined && !isCount(input)) return undefined
  const results = Object.values(Object(event['results']) as object).filter(isObject)
  const output = results.reduce((sum, result) => sum + units(result['tokenCount']), 0)
  return {
    text: [outputText, results.map((result) => result['outputText'])],
    // In a stream, the metrics report the usage.
    usage: results.length > 0 ? { input: units(input), output } : undefined,
  }
}
