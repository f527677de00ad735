import { cohere } from '@sluice/ai/formats'
import { json, lines, sse, SSE_TYPE, TEXT, TEXTS, type Provider } from './sample.ts'

/*
 * https://docs.cohere.com/reference/chat
 * https://docs.cohere.com/v2/docs/streaming
 * https://docs.cohere.com/v1/docs/streaming
 */
const USAGE = {
  billed_units: { input_tokens: 17, output_tokens: 310 },
  tokens: { input_tokens: 215, output_tokens: 318 },
  cached_tokens: 16,
}
const EXPECTED = { input: 17, cachedInput: 16, output: 310 }
const CALL = { id: 'c-1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
const message = { role: 'assistant', content: [{ type: 'text', text: TEXT }] }

const delta = (type: string, said: object, more: object = {}): object => ({
  type,
  ...more,
  delta: { message: said },
})
const V2_EVENTS = [
  {
    type: 'message-start',
    id: 'm-1',
    delta: { message: { role: 'assistant', content: [], tool_plan: '', tool_calls: [] } },
  },
  delta('tool-plan-delta', { tool_plan: 'I will look it up.' }),
  delta('tool-call-start', { tool_calls: CALL }, { index: 0 }),
  delta('tool-call-delta', { tool_calls: { function: { arguments: '{"a"' } } }, { index: 0 }),
  { type: 'tool-call-end', index: 0 },
  delta('content-start', { content: { type: 'text', text: '' } }, { index: 0 }),
  ...TEXTS.map((text) => delta('content-delta', { content: { text } }, { index: 0 })),
  { type: 'content-end', index: 0 },
  delta('citation-start', { citations: { start: 0, end: 3, text: 'The', sources: [] } }),
]
const V2_END = { type: 'message-end', delta: { finish_reason: 'COMPLETE', usage: USAGE } }

const META = { api_version: { version: '1' }, ...USAGE }
const V1_EVENTS = [
  { is_finished: false, event_type: 'stream-start', generation_id: 'g-1' },
  ...TEXTS.map((text) => ({ is_finished: false, event_type: 'text-generation', text })),
]
const V1_END = {
  is_finished: true,
  event_type: 'stream-end',
  finish_reason: 'COMPLETE',
  response: { text: TEXT, generation_id: 'g-1', meta: META },
}
const EMBEDDING = Array.from({ length: 8_000 }, (_, index) => index / 7)

export const COHERE: Provider = {
  formats: [cohere],
  from: 'cohere',
  json: [
    json({ id: 'm-1', finish_reason: 'COMPLETE', message, usage: USAGE }, EXPECTED),
    json({ id: 'm-1', message: { tool_plan: TEXT, tool_calls: [CALL] }, usage: USAGE }, EXPECTED),
    json({ text: TEXT, generation_id: 'g-1', finish_reason: 'COMPLETE', meta: META }, EXPECTED),
    json(
      { id: 'm-1', message, usage: { tokens: USAGE.tokens } },
      { input: 215, cachedInput: 0, output: 318 },
    ),
    json(
      {
        id: 'e-1',
        embeddings: { float: [EMBEDDING] },
        meta: { billed_units: { input_tokens: 8 } },
      },
      { input: 8, output: 0 },
    ),
  ],
  stream: [
    {
      body: sse(...V2_EVENTS, V2_END),
      type: SSE_TYPE,
      usage: EXPECTED,
      cut: sse(...V2_EVENTS),
    },
    {
      body: lines(...V1_EVENTS, V1_END),
      type: 'application/stream+json',
      usage: EXPECTED,
      cut: lines(...V1_EVENTS),
    },
  ],
  silent: sse(...V2_EVENTS, { type: 'message-end', delta: { finish_reason: 'COMPLETE' } }),
}
