import { isObject, type Tally } from './tally.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Reads one event of a stream, in whichever known format it is: OpenAI's chat completions, OpenAI's
 * responses, Anthropic's messages. Each tells by its shape. Returns whether it did.
 */
export function readEvent(event: Json, tally: Tally): boolean {
  const { type } = event
  if (Array.isArray(event['choices'])) chat(event, event['choices'], tally)
  else if (typeof type === 'string' && type.startsWith('response.')) responses(event, type, tally)
  else if (typeof type === 'string' && ANTHROPIC.has(type)) messages(event, type, tally)
  else if (typeof event['delta'] === 'string') tally.said(event['delta'])
  else return false
  tally.understood()
  return true
}

/** https://developers.openai.com/api/reference/resources/chat/subresources/completions/streaming-events */
function chat(event: Json, choices: readonly unknown[], tally: Tally): void {
  tally.named(event['model'])
  for (const choice of choices) {
    if (!isObject(choice)) continue
    tally.said(choice['text'])
    // Only with some providers.
    tally.reported(choice['usage'], true)
    const delta = choice['delta']
    if (!isObject(delta)) continue
    for (const field of ['content', 'refusal', 'reasoning_content', 'reasoning']) {
      tally.said(delta[field])
    }
    if (isObject(delta['audio'])) tally.said(delta['audio']['transcript'])
    called(delta['function_call'], tally)
    const calls = Array.isArray(delta['tool_calls']) ? (delta['tool_calls'] as unknown[]) : []
    for (const call of calls) {
      if (!isObject(call)) continue
      called(call['function'], tally)
      if (isObject(call['custom'])) {
        tally.said(call['custom']['name'])
        tally.said(call['custom']['input'])
      }
    }
  }
  tally.reported(event['usage'], true)
}

function called(call: unknown, tally: Tally): void {
  if (!isObject(call)) return
  tally.said(call['name'])
  tally.said(call['arguments'])
}

const LAST_RESPONSE = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** https://developers.openai.com/api/reference/resources/responses/streaming-events */
function responses(event: Json, type: string, tally: Tally): void {
  const { delta, response, item } = event
  // The same text comes again, whole, in events that end in `.done`; that of a sound is base64.
  if (type.endsWith('.delta') && type !== 'response.audio.delta') tally.said(delta)
  if (type === 'response.output_item.added' && isObject(item)) tally.said(item['name'])
  if (!isObject(response)) return
  tally.named(response['model'])
  if (!LAST_RESPONSE.has(type)) return
  tally.reported(response['usage'], true)
  tally.end()
}

const ANTHROPIC = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
])

/** https://platform.claude.com/docs/en/build-with-claude/streaming */
function messages(event: Json, type: string, tally: Tally): void {
  const { message, delta, content_block: block } = event
  if (type === 'message_start' && isObject(message)) {
    tally.named(message['model'])
    tally.reported(message['usage'], false)
  } else if (type === 'content_block_start' && isObject(block)) {
    tally.said(block['name'])
    tally.said(block['text'])
  } else if (type === 'content_block_delta' && isObject(delta)) {
    for (const field of ['text', 'thinking', 'partial_json']) tally.said(delta[field])
  } else if (type === 'message_delta') tally.reported(event['usage'], true)
  else if (type === 'message_stop') tally.end()
}
