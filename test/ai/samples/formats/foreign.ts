import { lines, sse, TEXT, TEXTS } from './sample.ts'

/**
 * Streams of which no format is known. They say the same text as the samples, in events that look a little like
 * those of a known format.
 *
 * https://ai.google.dev/gemini-api/docs/interactions/streaming
 * https://docs.mistral.ai/agents/agents
 * https://ai-sdk.dev/docs/reference/ai-sdk-core/stream-text
 */
export const FOREIGN: Readonly<Record<string, string>> = {
  'Gemini, interactions': sse(
    { event_type: 'interaction.created', interaction: { id: 'v1_1', object: 'interaction' } },
    { event_type: 'step.start', index: 0, step: { type: 'model_output' } },
    ...TEXTS.map((text) => ({
      event_type: 'step.delta',
      index: 0,
      delta: { type: 'text', text },
    })),
    { event_type: 'step.stop', index: 0 },
    { event_type: 'interaction.completed', interaction: { id: 'v1_1', status: 'completed' } },
  ),
  'Gemini, interactions of 2025': sse(
    ...TEXTS.map((text) => ({
      event_type: 'content.delta',
      index: 0,
      delta: { type: 'text', text },
    })),
  ),
  'Mistral, conversations': sse(
    { type: 'conversation.response.started', conversation_id: 'conv_1' },
    ...TEXTS.map((content) => ({ type: 'message.output.delta', content, role: 'assistant' })),
  ),
  'OpenAI, assistants': sse(
    ...TEXTS.map((value) => ({
      object: 'thread.message.delta',
      delta: { content: [{ index: 0, type: 'text', text: { value } }] },
    })),
  ),
  'llama.cpp': sse(...TEXTS.map((content) => ({ content, stop: false }))),
  'text generation inference': sse(
    ...TEXTS.map((text) => ({ token: { id: 1, text, special: false }, generated_text: null })),
  ),
  'AI SDK 4, parts': lines(...TEXTS.map((textDelta) => ({ type: 'text-delta', textDelta }))),
  'AI SDK, parts': lines(
    { type: 'start' },
    ...TEXTS.map((text) => ({ type: 'text-delta', id: '0', text })),
    ...TEXTS.map((text) => ({ type: 'reasoning-delta', id: '1', text })),
  ),
  'lines that say that they are done': lines(
    ...TEXTS.map((text) => ({ text, model: 'a', done: false })),
    { text: '', model: 'a', done: true },
  ),
  'events of a type like those of Cohere': sse(
    { type: 'content-start', text: TEXT },
    ...TEXTS.map((text) => ({ type: 'content-delta', delta: { text } })),
    ...TEXTS.map((delta) => ({ type: 'message-delta', delta })),
  ),
}
