import { isObject, objectOf, type Json } from '../json.ts'
import { reportedIn } from './provider-usage.ts'
import type { AnswerEvent } from './format.ts'

/*
 * The formats that every meter reads, recognized by their shape. OpenAI's chat completions have `choices`:
 * https://developers.openai.com/api/reference/resources/chat/subresources/completions/streaming-events
 * Its responses and Anthropic's messages have a type:
 * https://developers.openai.com/api/reference/resources/responses/streaming-events
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */
const KNOWN = /^response\.|^((message|content_block)_(start|delta|stop)|ping|error)$/
/** A type of event with new text; sound is base64. */
export const DELTA: RegExp = /(?<!audio\.)delta$/
const LAST = /^(response\.(completed|incomplete|failed)|message_stop)$/

/** Reads an event of OpenAI's or Anthropic's formats, or of one like theirs. */
export function readStandard(event: Json): AnswerEvent | undefined {
  const { choices, delta } = event
  if (Array.isArray(choices) && choices.every(isObject)) {
    // The usage and the text are in the event or in a choice. Groq's usage is in a member of its own.
    const parts = [event, ...choices, objectOf(event['x_groq'])] as readonly Json[]
    const text: unknown[] = []
    let usage: unknown
    for (const part of parts) {
      text.push(part['text'], part['delta'] ?? part['message'])
      if (!isObject(usage)) usage = part['usage']
    }
    return { model: event['model'], text, usage: reportedIn(usage, event) }
  }
  const type = String(event['type'])
  const isDelta = DELTA.test(type)
  // The AI SDK's own events have a type and a text.
  if (!KNOWN.test(type) && !(isDelta && typeof delta === 'string')) return undefined
  // Only the start of an Anthropic message has it as a member.
  const { response, message } = event
  const answer = objectOf(response ?? message ?? event)
  const { name, text } = objectOf(event['item'] ?? event['content_block'])
  const isBegun = /(added|start)$/.test(type)
  return {
    model: answer['model'],
    // The same text comes again, whole, in events that end in `.done`.
    text: [isDelta && delta, isBegun && [name, text]],
    usage: reportedIn(answer['usage'], answer),
    // Its output is that of the first token.
    isFinal: message === undefined ? undefined : false,
    isLast: LAST.test(type),
  }
}
