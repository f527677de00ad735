/* The fields of OpenAI's chat completions. */
import {
  DATA,
  EXTENSIONS,
  maxima,
  said,
  SCHEMA,
  URL,
  user,
  WORDS,
  wrongMaxima,
  type Rows,
} from './shared.ts'

const chatTool = { type: 'function', function: { name: 'weather', parameters: SCHEMA } }

export const CHAT_SENT: Rows = {
  'nothing else': {},
  ...maxima('max_tokens'),
  ...maxima('max_completion_tokens'),
  'two maxima': { max_tokens: 5, max_completion_tokens: 900 },
  'a maximum of another format': { max_output_tokens: 70 },
  'n: 1': { n: 1 },
  'n: 3': { n: 3, max_tokens: 50 },
  'n: 128': { n: 128 },
  stop: { stop: ['\n'] },
  seed: { seed: 7, temperature: 0, top_p: 0.5 },
  logprobs: { logprobs: true, top_logprobs: 20 },
  logit_bias: { logit_bias: { '50256': -100 } },
  penalties: { frequency_penalty: 1, presence_penalty: -1 },
  reasoning_effort: { reasoning_effort: 'high' },
  verbosity: { verbosity: 'high' },
  response_format: {
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } },
  },
  tools: { tools: [chatTool, chatTool], tool_choice: 'auto', parallel_tool_calls: true },
  'custom tools': {
    tools: [{ type: 'custom', custom: { name: 'sql', format: { type: 'text' } } }],
  },
  functions: { functions: [{ name: 'weather', parameters: SCHEMA }], function_call: 'auto' },
  'tool results': {
    tools: [chatTool],
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'How is the weather?', name: 'ann' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'c',
            type: 'function',
            function: { name: 'weather', arguments: '{"city":"Paris"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'Sunny. '.repeat(200) }] },
    ],
  },
  'store and metadata': { store: true, metadata: { job: 'a' }, user: 'u', safety_identifier: 's' },
  'prompt caching': { prompt_cache_key: 'k', prompt_cache_retention: '24h' },
  'service_tier: default': { service_tier: 'default' },
  'service_tier: on_demand': { service_tier: 'on_demand' },
  'service_tier: auto': { service_tier: 'auto' },
  'caches: explicit': { prompt_cache_options: { mode: 'explicit', ttl: '30m' } },
  'reasoning, shown': { reasoning_format: 'parsed', include_reasoning: true },
  'reasoning of a router': {
    reasoning: { effort: 'low', exclude: true },
    usage: { include: true },
  },
  'thinking: enabled': { thinking: { type: 'enabled' } },
  'sampling of servers': { top_k: 20, min_p: 0.1, ignore_eos: true, random_seed: 7 },
  'modalities: text': { modalities: ['text'] },
  nulls: { n: null, tools: null, service_tier: null, stream_options: null },
  'words of many languages': said(WORDS.repeat(300)),
  'escaped text': said('\u0001\u0002"\\'.repeat(2_000)),
  'half an emoji': said('\ud83c'.repeat(500)),
  'text parts': user({ type: 'text', text: WORDS }, { type: 'text', text: WORDS.repeat(9) }),
  'a refusal': {
    messages: [
      { role: 'assistant', refusal: 'No.' },
      { role: 'user', content: 'Go on' },
    ],
  },
  'many messages': {
    messages: Array.from({ length: 400 }, () => ({ role: 'user', content: '.' })),
  },
}

export const CHAT_MORE: Rows = {
  ...wrongMaxima('max_tokens'),
  ...wrongMaxima('max_completion_tokens'),
  ...EXTENSIONS,
  'n: 0': { n: 0 },
  'n: 129': { n: 129 },
  "n: '3'": { n: '3' },
  'n: 1e9': { n: 1e9 },
  best_of: { best_of: 20 },
  'modalities: audio': { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
  prediction: { prediction: { type: 'content', content: WORDS } },
  web_search_options: { web_search_options: {} },
  "a provider's tool": { tools: [{ type: 'web_search' }] },
  'a tool without a type': { tools: [{ name: 'a' }] },
  'tools that are no list': { tools: { 0: { type: 'web_search' } } },
  "stream: 'true'": { stream: 'true' },
  'stream: 1': { stream: 1 },
  'no messages': { messages: [] },
  'messages of text': { messages: 'Why?' },
  'a prompt beside messages': { prompt: WORDS.repeat(99) },
  'a file': user({ type: 'file', file: { file_id: 'file_1' } }),
  'a file in full': user({ type: 'file', file: { filename: 'a.pdf', file_data: DATA } }),
  audio: user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
  video: user({ type: 'video_url', video_url: { url: URL } }),
  'a picture': user({ type: 'image_url', image_url: { url: URL } }),
  'a picture in full': user({ type: 'image_url', image_url: { url: DATA, detail: 'low' } }),
  'browser search': { tools: [{ type: 'browser_search' }, { type: 'code_interpreter' }] },
  'a picture without a type': user({ image_url: { url: URL } }),
  'a file without a type': user({ file_id: 'file_1' }),
  'reasoning.mode: pro': { reasoning: { mode: 'pro' } },
  'a picture as text': user({ type: 'image_url', image_url: URL }),
  'an answer in sound': {
    messages: [
      { role: 'assistant', audio: { id: 'audio_1' } },
      { role: 'user', content: 'Go on' },
    ],
  },
  previous_response_id: { previous_response_id: 'resp_1' },
  conversation: { conversation: 'conv_1' },
  documents: { documents: [{ id: 'd', data: { text: WORDS } }] },
  'thinking of another format': { thinking: { type: 'enabled', budget_tokens: 90_000 } },
  'twice the same name':
    '{"model":"MODEL","max_tokens":1,"max_tokens":90000,"messages":[{"role":"user","content":"a"}]}',
  'twice the same name, escaped':
    '{"model":"MODEL","n":1,"\\u006e":99,"messages":[{"role":"user","content":"a"}]}',
  'names in capitals':
    '{"model":"MODEL","N":99,"Max_Tokens":90000,"messages":[{"role":"user","content":"a"}]}',
  'a prototype':
    '{"model":"MODEL","__proto__":{"n":99,"service_tier":"priority"},"messages":[{"role":"user","content":"a"}]}',
  'a byte order mark': '\ufeff{"model":"MODEL","messages":[{"role":"user","content":"a"}]}',
  'no JSON': '{"model":"MODEL","messages":[{"role":"user","content":"a"}]',
  'a list': '[{"model":"MODEL","messages":[{"role":"user","content":"a"}]}]',
  'another model': '{"model":"gpt-none","messages":[{"role":"user","content":"a"}]}',
  'no model': '{"messages":[{"role":"user","content":"a"}]}',
}
