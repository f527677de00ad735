import { meter } from './packages/ai/dist/index.js'
const sse = (...e) => e.map((x) => `data: ${typeof x === 'string' ? x : JSON.stringify(x)}\n\n`).join('')
const run = async (name, body, o = {}) => { let u; await meter(new Response(body), { settle: (x) => (u = x), ...o }).text(); console.log(name, JSON.stringify(u)) }
const usage = { prompt_tokens: 40, completion_tokens: 7, total_tokens: 47 }
await run('wai', sse({ response: 'Blue' }, { response: '', usage }, '[DONE]'))
await run('wai2', sse({ response: 'Blue' }, { response: '', usage }, { response: '' }, '[DONE]'))
await run('wai3', sse({ response: 'Blue', usage: { ...usage, completion_tokens: 3 } }, { response: '', usage }, '[DONE]'))
await run('wai-json', JSON.stringify({ result: { response: 'Blue', usage }, success: true }))
for (const u of [
  { prompt_tokens: 2168, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 2161, cache_write_tokens: 2161 } },
  { prompt_tokens: 2168, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 2161 }, cache_creation_input_tokens: 2161 },
  { input_tokens: 2168, output_tokens: 5, input_tokens_details: { cached_tokens: 2161, cache_write_tokens: 2161 } },
  { inputTokens: 2168, outputTokens: 5, cacheReadInputTokens: 2161, cacheWriteInputTokens: 2161 },
  { input_tokens: 2168, output_tokens: 5, cache_read_input_tokens: 2161, cache_creation_input_tokens: 2161, total_tokens: 2173 },
  { prompt_tokens: 5, completion_tokens: 9, prompt_cache_hit_tokens: 3, prompt_cache_miss_tokens: 2 },
]) await run('u', JSON.stringify({ choices: [], usage: u }))
