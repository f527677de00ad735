/* The calls of the AI SDK, which have no body. */
import { byteLength, isObject, objectOf, type Json } from '../json.ts'
import { isCallersTool } from './api.ts'
import { tokensOf, unitsOfCall } from './call-units.ts'
import {
  countedName,
  leastOutput,
  modelToCall,
  outputOf,
  tierAsked,
  type CallTerms,
  type PreparedCall,
} from './prepare.ts'
import { readProviderOptions, toolRefusal, type CallWithOptions } from './provider-options.ts'

/** The options of one call, as versions 5 to 7 of the AI SDK pass them. */
export interface ModelCall extends CallWithOptions {
  readonly maxOutputTokens?: number
  readonly responseFormat?: unknown
  readonly abortSignal?: AbortSignal
}

/** The part of a language model of the AI SDK that is used here; `ai` itself is not imported. */
export interface AiSdkModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  // eslint-disable-next-line typescript/no-explicit-any -- each version of the SDK has types of its own
  doGenerate(options: any): PromiseLike<any>
  // eslint-disable-next-line typescript/no-explicit-any -- as above
  doStream(options: any): PromiseLike<any>
}

/** A call of the AI SDK, its model, and the tokens that it may think. */
export interface PreparedModelCall extends PreparedCall {
  readonly target: AiSdkModel
  /** The parts that are counted, as a body. */
  readonly body: Json
  readonly thinking: number
}

/**
 * Returns a call of the AI SDK as one to reserve, with the tokens that it may think, which the SDK adds to its maximum.
 *
 * @throws InputError When a tool, an option or a file may cost more than is counted.
 */
export function prepareModelCall(
  target: AiSdkModel,
  call: ModelCall,
  options: CallTerms,
): PreparedModelCall {
  const { prompt, tools = [], responseFormat, maxOutputTokens } = call
  const model = modelToCall(target.modelId, options)
  if (!tools.every(isCallersTool) && options.allowFields?.includes('tools') !== true) {
    throw toolRefusal('tools')
  }
  const { fields, thinking, cachesLong } = readProviderOptions(model, call, options.allowFields)
  const messages = prompt.map(messageToCount)
  const body = { ...fields, model, messages, tools, format: responseFormat }
  const [usual, allowed] = outputOf(model, body, thinking, options)
  // The SDK sends the sum of both as the maximum.
  const most = allowed - (options.maxOutput ? 0 : thinking)
  const output = Math.min(maxOutputTokens ?? most, most) + thinking
  const least = leastOutput(usual - thinking, 0, options) + thinking
  const bytes = byteLength(JSON.stringify(body))
  const { input } = tokensOf(body, bytes, options)
  const usage = {
    input,
    output,
    cacheWrite: input,
    longCacheWrite: cachesLong ? input : 0,
    tier: tierAsked(fields),
  }
  return {
    model,
    countedAs: countedName(model, options.prices),
    input,
    output,
    usual: Math.min(output, Math.max(usual, least)),
    floor: Math.min(output, least),
    thinking,
    target,
    body,
    ...unitsOfCall(model, usage, Math.max(input, bytes), options.prices),
  }
}

/** A message of the SDK as one that can be estimated. */
function messageToCount(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message['content'])) return message
  return { role: message['role'], content: message['content'].map(partToCount) }
}

/** A part of a message: files are images, or of unknown size. A tool may return some, too. */
function partToCount(part: unknown): unknown {
  if (!isObject(part)) return part
  const { type, mediaType, output, data } = part
  if (isObject(output)) {
    const { value } = output
    const isParts = output['type'] === 'content' && Array.isArray(value)
    // Names in the data of a tool mean nothing here.
    return { ...part, output: isParts ? value.map(partToCount) : JSON.stringify(value) }
  }
  if (!/^(reasoning-)?(file|media|image)/.test(String(type))) return part
  if (String(type).startsWith('image') || /^image(\/|$)/.test(String(mediaType))) {
    return { type: 'input_image', image_url: '' }
  }
  const text = objectOf(data)['text']
  if (typeof text === 'string') return { type: 'text', text }
  return isHiddenFile(part)
    ? { type: 'input_file', file_id: 'file' }
    : { type: 'input_file', file_data: '' }
}

/** Returns true if a file has sound, or is named by an address or an id: a short text that is no base64. */
function isHiddenFile({ type, mediaType, data }: Json): boolean {
  if (/^(audio|video)/.test(String(mediaType))) return true
  if (/-(url|id|reference)$/.test(String(type)) || data instanceof URL) return true
  if (typeof data === 'string') return data.length < 256 && /[^A-Za-z0-9+/=]/.test(data)
  return /^(url|reference)$/.test(String(objectOf(data)['type']))
}
