import { jsonScan } from './json-scan.ts'
import { isObject, objectOf, objectsIn, type Json } from '../json.ts'
import { isCount, units } from './provider-usage.ts'
import type { AnswerDecoder, AnswerEvent, ReportedUsage, UsageFormat } from './format.ts'
import { textsOf } from './tool-arguments.ts'

/**
 * Answers of the Gemini API and of Gemini on Vertex AI (`generateContent`, `streamGenerateContent`): JSON,
 * server-sent events (`alt=sse`), and the list in JSON that a stream is without `alt=sse`.
 * https://ai.google.dev/api/generate-content
 */
export const gemini: UsageFormat = {
  fields: ['usageMetadata', 'modelVersion', 'promptFeedback', 'candidates.*.finishReason'],
  decoder: (firstByte) => (firstByte === 0x5b ? listItems() : undefined),
  read(event): AnswerEvent | undefined {
    const { usageMetadata, promptFeedback, modelVersion } = event
    const candidates = Object.values(Object(event['candidates']) as object).filter(isObject)
    const isAnswer = candidates.some((one) => isObject(one['content']) || 'finishReason' in one)
    if (!isAnswer && !isObject(usageMetadata) && !isObject(promptFeedback)) return undefined
    const isDone = candidates.length > 0 && candidates.every((one) => one['finishReason'])
    return {
      model: modelVersion,
      text: candidates.map(({ content }) => objectsIn(objectOf(content)['parts']).map(textsOfPart)),
      usage: usageIn(objectOf(usageMetadata)),
      // Each event of a stream reports the usage so far.
      isFinal: isDone || objectOf(promptFeedback)['blockReason'] !== undefined,
    }
  },
}

function usageIn(usage: Json): ReportedUsage | undefined {
  if (!isCount(usage['promptTokenCount'])) return undefined
  const input = usage['promptTokenCount'] + units(usage['toolUsePromptTokenCount'])
  // A number that is 0 is left out.
  const reasoning = units(usage['thoughtsTokenCount'])
  const output = units(usage['candidatesTokenCount']) + reasoning
  return {
    input,
    cachedInput: units(usage['cachedContentTokenCount']),
    output: Math.max(output, units(usage['totalTokenCount']) - input),
    ...(reasoning > 0 && { reasoning }),
  }
}

function textsOfPart({ text, functionCall, executableCode }: Json): unknown[] {
  const { name, args } = objectOf(functionCall)
  return [text, name, textsOf(args), objectOf(executableCode)['code']]
}

/** Turns a list of objects into one object a line. Any other text stays as it is. */
function listItems(): AnswerDecoder {
  const text = new TextDecoder()
  const scan = jsonScan()
  let part: 'between' | 'item' | 'text' = 'between'

  return (chunk) => {
    let rest = text.decode(chunk, { stream: chunk !== undefined })
    let items = ''
    while (rest !== '') {
      if (part === 'between') {
        rest = rest.replace(/^[\s,[\]]+/, '')
        if (rest !== '') part = rest.startsWith('{') ? 'item' : 'text'
      } else {
        const end = part === 'item' ? scan.push(rest) : undefined
        items += rest.slice(0, end)
        rest = end === undefined ? '' : rest.slice(end)
        if (end !== undefined) {
          items += '\n'
          part = 'between'
        }
      }
    }
    return items
  }
}
