import type { Tally } from './tally.ts'
import { isObject, objectOf, type Json } from './json.ts'

/*
 * Events of known formats tell themselves by their shape. OpenAI's chat completions have `choices`:
 * https://developers.openai.com/api/reference/resources/chat/subresources/completions/streaming-events
 * Its responses and Anthropic's messages have a type:
 * https://developers.openai.com/api/reference/resources/responses/streaming-events
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */
const KNOWN = /^response\.|^(?:(?:message|content_block)_(?:start|delta|stop)|ping|error)$/
const LAST = /^(?:response\.(?:completed|incomplete|failed)|message_stop)$/

/** The members of a delta or a message that have what the model says. */
const SAID = /* @__PURE__ */ new Set(
  'content text refusal reasoning_content reasoning thinking partial_json audio transcript function_call tool_calls function custom name arguments input'.split(
    ' ',
  ),
)

/** Reads one event of a stream, or a whole answer, if it is of a known format; returns whether it is. */
export function readEvent(event: Json, tally: Tally): boolean {
  const { choices, delta } = event
  if (Array.isArray(choices) && choices.every(isObject)) {
    tally.named(event['model'])
    for (const choice of [event, ...(choices as unknown[])]) readChoice(choice, tally)
    return true
  }
  const type = String(event['type'])
  // The AI SDK's own events have a type and a text.
  const isText = typeof delta === 'string' && typeof event['type'] === 'string'
  if (!KNOWN.test(type) && !isText) return false
  const isStart = type === 'message_start'
  const answer = objectOf(event['response'] ?? (isStart ? event['message'] : event))
  tally.named(answer['model'])
  tally.reported(answer['usage'], !isStart)
  // The same text comes again, whole, in events that end in `.done`.
  if (!isSound(type)) saidIn(delta, tally)
  const { name, text } = objectOf(event['item'] ?? event['content_block'])
  if (/(?:added|start)$/.test(type)) for (const begun of [name, text]) tally.said(begun)
  tally.ended ||= tally.isUnderstood && LAST.test(type)
  return true
}

/** Reads a choice of a chat, or what is told of all: some write a usage, or a whole message, at either. */
function readChoice(choice: unknown, tally: Tally): void {
  const { text, delta, message, usage } = objectOf(choice)
  tally.said(text)
  saidIn(delta ?? message, tally)
  tally.reported(usage, true)
}

/** An event that is too long to be read, by its type; its usage has been looked for. */
export function readLongEvent(type: string, tokens: number, tally: Tally): void {
  // All but deltas repeat what was said or asked, or bring what a tool has found.
  const isSaid = !KNOWN.test(type) || (type.endsWith('delta') && !isSound(type))
  if (isSaid) tally.counted(tokens)
  tally.ended ||= LAST.test(type)
}

/** A text, a list of parts, or an object with texts in it. */
function saidIn(value: unknown, tally: Tally): void {
  // Not recursive: it may nest as deeply as it is long.
  const parts = [value]
  while (parts.length > 0) {
    const part = parts.pop()
    if (Array.isArray(part)) parts.push(...(part as unknown[]))
    else if (isObject(part)) {
      for (const name in part) if (SAID.has(name)) parts.push(part[name])
    } else tally.said(part)
  }
}

/** A delta in base64. */
function isSound(type: string): boolean {
  return type.endsWith('audio.delta')
}
