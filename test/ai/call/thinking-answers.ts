/* Answers of models that think up to their maximum, in each vendor's format. */
import type { ModelApi } from '@sluice/ai'
import { event as frame, stream as frames } from '../samples/formats/event-stream.ts'

export type Json = Readonly<Record<string, unknown>>

export const INPUT = 10
export const QUESTION = 'Why is the sky blue?'
const CHAT = { messages: [{ role: 'user', content: QUESTION }] }

const events = (...list: readonly unknown[]): string =>
  list.map((data) => `data: ${JSON.stringify(data)}\n\n`).join('')

const chatUsage = (output: number): Json => ({
  prompt_tokens: INPUT,
  completion_tokens: output,
  total_tokens: INPUT + output,
})
const chatHead = { id: 'c', created: 1, model: 'gpt-5' }
const response = (output: number): Json => ({
  id: 'r',
  object: 'response',
  created_at: 1,
  status: 'incomplete',
  incomplete_details: { reason: 'max_output_tokens' },
  model: 'gpt-5',
  output: [{ type: 'reasoning', id: 'rs', summary: [] }],
  usage: { input_tokens: INPUT, output_tokens: output, total_tokens: INPUT + output },
})
const geminiAnswer = (output: number): Json => ({
  candidates: [{ content: { role: 'model' }, index: 0, finishReason: 'MAX_TOKENS' }],
  usageMetadata: {
    promptTokenCount: INPUT,
    thoughtsTokenCount: output,
    totalTokenCount: INPUT + output,
  },
})
const converseUsage = (output: number): Json => ({
  inputTokens: INPUT,
  outputTokens: output,
  totalTokens: INPUT + output,
})

/** A format: its calls, and its answers that are thought alone. */
export interface Format {
  readonly api: ModelApi
  readonly path: string
  readonly body: Json
  readonly whole: (output: number) => unknown
  readonly streamed: (output: number) => string | Uint8Array<ArrayBuffer>
}

export const openaiChat = (model: string): Format => ({
  api: 'openai-chat',
  path: 'chat/completions',
  body: { model, ...CHAT },
  whole: (output) => ({
    ...chatHead,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'length' }],
    usage: chatUsage(output),
  }),
  streamed: (output) =>
    `${events(
      {
        ...chatHead,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: 'length' }],
      },
      { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: chatUsage(output) },
    )}data: [DONE]\n\n`,
})

export const FORMATS: Readonly<Record<string, Format>> = {
  'OpenAI chat': openaiChat('gpt-5'),
  'OpenAI responses': {
    api: 'openai-responses',
    path: 'responses',
    body: { model: 'gpt-5', input: QUESTION },
    whole: response,
    streamed: (output) =>
      events(
        { type: 'response.created', response: { id: 'r', created_at: 1, model: 'gpt-5' } },
        { type: 'response.incomplete', response: response(output) },
      ),
  },
  Claude: {
    api: 'anthropic-messages',
    path: 'v1/messages',
    body: { model: 'claude-opus-5', max_tokens: 64_000, ...CHAT },
    whole: (output) => ({
      type: 'message',
      id: 'm',
      role: 'assistant',
      model: 'claude-opus-5',
      content: [{ type: 'thinking', thinking: '', signature: 's' }],
      stop_reason: 'max_tokens',
      usage: { input_tokens: INPUT, output_tokens: output },
    }),
    streamed: (output) =>
      events(
        {
          type: 'message_start',
          message: {
            type: 'message',
            id: 'm',
            role: 'assistant',
            model: 'claude-opus-5',
            content: [],
            usage: { input_tokens: INPUT, output_tokens: 1 },
          },
        },
        {
          type: 'message_delta',
          delta: { stop_reason: 'max_tokens', stop_sequence: null },
          usage: { output_tokens: output },
        },
        { type: 'message_stop' },
      ),
  },
  // A function of the user's translates the call.
  Gemini: {
    ...openaiChat('gemini-2.5-pro'),
    whole: geminiAnswer,
    streamed: (output) => events(geminiAnswer(output)),
  },
  Bedrock: {
    ...openaiChat('nova-pro'),
    whole: (output) => ({
      output: { message: { role: 'assistant', content: [] } },
      stopReason: 'max_tokens',
      usage: converseUsage(output),
    }),
    streamed: (output) =>
      frames(
        frame('messageStop', { stopReason: 'max_tokens' }),
        frame('metadata', { usage: converseUsage(output) }),
      ),
  },
}
