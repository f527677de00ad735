import { workersAi } from '@sluice/ai/formats'
import { json, sse, SSE_TYPE, TEXT, TEXTS, type Provider } from './sample.ts'

/*
 * https://developers.cloudflare.com/workers-ai/get-started/rest-api
 * https://developers.cloudflare.com/workers-ai/models/llama-3.3-70b-instruct-fp8-fast
 */
const USAGE = { prompt_tokens: 40, completion_tokens: 310, total_tokens: 350 }
const EXPECTED = { input: 40, output: 310 }
const rest = (result: object): object => ({ result, success: true, errors: [], messages: [] })
const CALL = { name: 'get_weather', arguments: { place: 'Utrecht' } }
const CHAT = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: '@cf/openai/gpt-oss-120b',
  choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
  usage: USAGE,
}
const EVENTS = TEXTS.map((response) => ({ response, p: 'abcdefghijklmnop' }))
const DONE = 'data: [DONE]\n\n'
const stream = (...end: readonly object[]): string => `${sse(...EVENTS, ...end)}${DONE}`

export const WORKERS_AI: Provider = {
  formats: [workersAi],
  from: 'workersAi',
  json: [
    json(rest({ response: TEXT, usage: USAGE }), EXPECTED),
    json(rest({ response: null, tool_calls: [CALL], usage: USAGE }), EXPECTED),
    json(rest({ response: { answer: TEXT }, usage: USAGE }), EXPECTED),
    json(rest({ response: TEXT.repeat(2_000), usage: USAGE }), EXPECTED),
    json(rest(CHAT), { ...EXPECTED, model: '@cf/openai/gpt-oss-120b' }),
    // The binding's answer, in a response of one's own.
    json({ response: TEXT, usage: USAGE }, EXPECTED),
  ],
  stream: [
    {
      body: stream({ response: '', usage: USAGE }),
      type: SSE_TYPE,
      usage: EXPECTED,
      cut: sse(...EVENTS),
    },
    {
      body: stream({ response: '', usage: USAGE, p: 'abc' }, { response: '', p: 'abcdefgh' }),
      type: SSE_TYPE,
      usage: EXPECTED,
    },
    {
      body: stream(
        { response: '', usage: { ...USAGE, completion_tokens: 309, total_tokens: 349 } },
        { response: '', usage: USAGE },
      ),
      type: SSE_TYPE,
      usage: EXPECTED,
    },
  ],
  silent: stream(),
}
