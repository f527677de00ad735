import { CHAT_JSON, CHAT_SSE, MESSAGES_JSON, MESSAGES_SSE } from '../../recordings.ts'
import { RESPONSES_JSON, responsesSse } from '../../recordings.ts'
import { json, sse, SSE_TYPE, TEXT, TEXTS, type Provider, type Sample } from './sample.ts'

const DONE = 'data: [DONE]\n\n'
const answer = (more: object, choice: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'm-1',
  choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, ...choice }],
  ...more,
})
const chunk = (delta: object, more: object = {}, choice: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'm-1',
  choices: [{ index: 0, delta, ...choice }],
  ...more,
})
const CHUNKS = TEXTS.map((content) => chunk({ content }))
const stream = (end: object, usage: Sample['usage']): Sample => ({
  body: `${sse(...CHUNKS, end)}${DONE}`,
  type: SSE_TYPE,
  usage,
  cut: sse(...CHUNKS),
})
const plain = (
  first: string,
  second: object,
  streamed: string,
  usage: Sample['usage'],
): Provider => ({
  formats: [],
  from: '',
  json: [{ body: JSON.stringify(second), type: 'application/json', usage }],
  stream: [{ body: streamed, type: first, usage }],
})

const TOLD = { input: 1_204, cachedInput: 1_024, output: 310 }
export const CHAT: Provider = plain(SSE_TYPE, CHAT_JSON, CHAT_SSE, TOLD)
export const RESPONSES: Provider = plain(SSE_TYPE, RESPONSES_JSON, responsesSse(), TOLD)
export const MESSAGES: Provider = plain(SSE_TYPE, MESSAGES_JSON, MESSAGES_SSE, TOLD)

/** https://console.groq.com/docs/api-reference */
const GROQ_USAGE = {
  queue_time: 0.037,
  prompt_tokens: 1_204,
  prompt_time: 0.000_68,
  completion_tokens: 310,
  completion_time: 0.463,
  total_tokens: 1_514,
  total_time: 0.464,
  prompt_tokens_details: { cached_tokens: 1_024 },
}
export const GROQ: Provider = {
  formats: [],
  from: '',
  json: [json(answer({ usage: GROQ_USAGE, x_groq: { id: 'req_1' } }), { model: 'm-1', ...TOLD })],
  stream: [
    stream(chunk({}, { x_groq: { id: 'req_1', usage: GROQ_USAGE } }, { finish_reason: 'stop' }), {
      model: 'm-1',
      ...TOLD,
    }),
  ],
}

/** https://api-docs.deepseek.com/api/create-chat-completion */
const DEEPSEEK_USAGE = {
  prompt_tokens: 1_204,
  prompt_cache_hit_tokens: 1_024,
  prompt_cache_miss_tokens: 180,
  completion_tokens: 310,
  total_tokens: 1_514,
  completion_tokens_details: { reasoning_tokens: 250 },
}
export const DEEPSEEK: Provider = {
  formats: [],
  from: '',
  json: [json(answer({ usage: DEEPSEEK_USAGE }), TOLD)],
  stream: [stream(chunk({}, { choices: [], usage: DEEPSEEK_USAGE }), TOLD)],
}

/** https://platform.moonshot.ai/docs/api/chat */
const MOONSHOT_USAGE = {
  prompt_tokens: 1_204,
  completion_tokens: 310,
  total_tokens: 1_514,
  cached_tokens: 1_024,
}
export const MOONSHOT: Provider = {
  formats: [],
  from: '',
  json: [json(answer({ usage: MOONSHOT_USAGE }), TOLD)],
  stream: [stream(chunk({}, {}, { finish_reason: 'stop', usage: MOONSHOT_USAGE }), TOLD)],
}
