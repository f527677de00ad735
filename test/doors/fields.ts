/* The fields of each API that cost tokens or money, from the vendors' references; each row is one body. */
import type { ModelApi } from '@sluice/ai'

type Fields = Readonly<Record<string, unknown>>

/** Rows of fields that are added to a question, or a whole body as text, with `MODEL` for its model. */
export type Rows = Readonly<Record<string, Fields | string>>

export interface ApiTable {
  readonly question: Fields
  /** Cost nothing beside the tokens that are counted: each is sent, and charged right. */
  readonly tokensOnly: Rows
  /** Cost more, or hide what they cost: each is refused, or charged right. */
  readonly costsMore: Rows
}

const WORDS = 'Why is the sky blue, and the grass not? Pourquoi ? なぜ空は青いのですか。🌍 '
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const URL = 'https://pictures.example/a.png'
const DATA = `data:image/png;base64,${'iVBORw0KGgo'.repeat(20)}`
const PDF = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' }

const user = (...content: unknown[]): Fields => ({ messages: [{ role: 'user', content }] })
const said = (text: string): Fields => ({ messages: [{ role: 'user', content: text }] })
const chatTool = { type: 'function', function: { name: 'weather', parameters: SCHEMA } }

/** Maxima, as every API with output takes them. */
const maxima = (name: string): Rows => ({
  [`${name}: 1`]: { [name]: 1 },
  [`${name}: 100`]: { [name]: 100 },
  [`${name}: 4096`]: { [name]: 4_096 },
  [`${name}: 1000000`]: { [name]: 1_000_000 },
  [`${name}: null`]: { [name]: null },
})
/** Values that are no maximum. */
const wrongMaxima = (name: string): Rows => ({
  [`${name}: 0`]: { [name]: 0 },
  [`${name}: -1`]: { [name]: -1 },
  [`${name}: 1.5`]: { [name]: 1.5 },
  [`${name}: 1e21`]: { [name]: 1e21 },
  [`${name}: '9'`]: { [name]: '9' },
  [`${name}: [9]`]: { [name]: [9] },
})

/** What gateways and other vendors add to OpenAI's formats. */
const EXTENSIONS: Rows = {
  'service_tier: auto': { service_tier: 'auto' },
  'service_tier: priority': { service_tier: 'priority' },
  'service_tier: fast': { service_tier: 'fast' },
  'service_tier: unknown': { service_tier: 'of tomorrow' },
  models: { models: ['gpt-4o', 'claude-opus-4-6'] },
  fallbacks: { fallbacks: ['claude-opus-4-6'] },
  plugins: { plugins: [{ id: 'web' }] },
  'provider order': { provider: { order: ['azure'], sort: 'latency' } },
  search_parameters: { search_parameters: { mode: 'on' } },
  search_settings: { search_settings: { country: 'fr' } },
  compound_custom: { compound_custom: { tools: { enabled_tools: ['web_search'] } } },
  agent_count: { agent_count: 4 },
  mcp_servers: { mcp_servers: [{ type: 'url', name: 'a', url: 'https://mcp.example' }] },
  container: { container: 'container_1' },
  context_management: { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] },
  'speed: fast': { speed: 'fast' },
  extra_body: { extra_body: { service_tier: 'priority' } },
}

const CHAT_SENT: Rows = {
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

const CHAT_MORE: Rows = {
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

const item = (...content: unknown[]): Fields => ({ input: [{ role: 'user', content }] })
const responseTool = { type: 'function', name: 'weather', parameters: SCHEMA, strict: true }

const RESPONSES_SENT: Rows = {
  'nothing else': {},
  ...maxima('max_output_tokens'),
  'a maximum of another format': { max_tokens: 70 },
  instructions: { instructions: WORDS.repeat(40) },
  'input as items': item({ type: 'input_text', text: WORDS }),
  tools: { tools: [responseTool], tool_choice: 'auto', max_tool_calls: 3 },
  'tool results': {
    tools: [responseTool],
    input: [
      { role: 'user', content: 'How is the weather?' },
      { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{"city":"Paris"}' },
      { type: 'function_call_output', call_id: 'c', output: 'Sunny. '.repeat(200) },
    ],
  },
  reasoning: {
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
  },
  text: { text: { format: { type: 'json_schema', name: 'a', schema: SCHEMA }, verbosity: 'low' } },
  'store: false': { store: false, truncation: 'auto', metadata: { job: 'a' } },
  'service_tier: default': { service_tier: 'default' },
  'background: false': { background: false },
  'tools that the client runs': {
    tools: [{ type: 'local_shell' }, { type: 'apply_patch' }, { type: 'computer' }],
  },
  'reasoning in full': {
    input: [
      { role: 'user', content: WORDS },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAB'.repeat(99) },
    ],
  },
}

const RESPONSES_MORE: Rows = {
  ...wrongMaxima('max_output_tokens'),
  ...EXTENSIONS,
  'a picture': item({ type: 'input_image', image_url: URL }),
  'reasoning.mode: pro': { reasoning: { mode: 'pro', effort: 'high' } },
  'a picture without a type': item({ image_url: URL }),
  'a picture by its id': item({ type: 'input_image', file_id: 'file_1' }),
  'a file': item({ type: 'input_file', file_id: 'file_1' }),
  'a file at an address': item({ type: 'input_file', file_url: URL }),
  'an item by its id': { input: [{ type: 'item_reference', id: 'msg_1' }] },
  'an item by its id alone': { input: [{ id: 'msg_1' }] },
  'reasoning by its id': { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] },
  'an answer by its id': { input: [{ type: 'message', id: 'msg_1', role: 'assistant' }] },
  'the call of a search by its id': { input: [{ type: 'web_search_call', id: 'ws_1' }] },
  previous_response_id: { previous_response_id: 'resp_1' },
  'conversation by its id': { conversation: 'conv_1' },
  'conversation as an object': { conversation: { id: 'conv_1' } },
  'background: true': { background: true },
  'a web search': { tools: [{ type: 'web_search' }] },
  'a code interpreter': { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
  'a file search': { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] },
  'an image tool': { tools: [{ type: 'image_generation' }] },
  'an MCP server': {
    tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://mcp.example' }],
  },
  'a stored prompt': { prompt: { id: 'pmpt_1', variables: { a: 'b' } } },
  messages: { messages: [{ role: 'user', content: WORDS.repeat(99) }] },
  'n: 9': { n: 9 },
}

const COMPLETIONS_SENT: Rows = {
  'nothing else': {},
  ...maxima('max_tokens'),
  'n: 3': { n: 3, max_tokens: 40 },
  best_of: { best_of: 5, max_tokens: 40 },
  'best_of and n': { n: 2, best_of: 4 },
  echo: { echo: true, logprobs: 5 },
  suffix: { suffix: WORDS.repeat(9) },
  'token numbers': { prompt: [1, 22, 333, 50_000] },
}

const COMPLETIONS_MORE: Rows = {
  ...wrongMaxima('max_tokens'),
  ...EXTENSIONS,
  'many prompts': { prompt: ['a', 'b', 'c'] },
  'many lists of token numbers': { prompt: [[1, 2], [3]] },
  'best_of: 129': { best_of: 129 },
  'no prompt': { prompt: null },
  messages: { messages: [{ role: 'user', content: WORDS }] },
}

const EMBEDDINGS_SENT: Rows = {
  'nothing else': {},
  'many texts': { input: [WORDS, WORDS.repeat(20), 'a'] },
  'token numbers': { input: [1, 22, 333] },
  'lists of token numbers': {
    input: [
      [1, 2],
      [3, 4, 5],
    ],
  },
  dimensions: { dimensions: 256, encoding_format: 'float', user: 'u' },
}

const EMBEDDINGS_MORE: Rows = {
  ...EXTENSIONS,
  'a picture': { input: [{ type: 'image_url', image_url: { url: URL } }] },
  stream: { stream: true },
  max_tokens: { max_tokens: 1 },
  messages: { messages: [{ role: 'user', content: WORDS }] },
}

const tool = { name: 'weather', input_schema: SCHEMA }
const FOR_AN_HOUR = { type: 'ephemeral', ttl: '1h' }

const MESSAGES_SENT: Rows = {
  'nothing else': {},
  ...maxima('max_tokens'),
  system: { system: WORDS.repeat(30) },
  'a system of parts': {
    system: [{ type: 'text', text: WORDS, cache_control: { type: 'ephemeral' } }],
  },
  tools: {
    tools: [tool, { ...tool, type: 'custom', name: 'other' }],
    tool_choice: { type: 'any' },
  },
  'tools that the client runs': {
    tools: [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      {
        type: 'computer_20250124',
        name: 'computer',
        display_width_px: 800,
        display_height_px: 600,
      },
      { type: 'memory_20250818', name: 'memory' },
    ],
  },
  'a tool kept for an hour': { tools: [{ ...tool, cache_control: FOR_AN_HOUR }] },
  'tool results': {
    tools: [tool],
    messages: [
      { role: 'user', content: 'How is the weather?' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't', name: 'weather', input: { city: 'Paris' } }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: 'Sunny. '.repeat(200) }],
      },
    ],
  },
  'kept in a cache': user({
    type: 'text',
    text: WORDS.repeat(99),
    cache_control: { type: 'ephemeral' },
  }),
  'kept for an hour': user({ type: 'text', text: WORDS.repeat(99), cache_control: FOR_AN_HOUR }),
  'kept in a cache of its own': { cache_control: { type: 'ephemeral' } },
  'thinking: enabled with room': {
    max_tokens: 3_000,
    thinking: { type: 'enabled', budget_tokens: 2_000 },
  },
  'thinking: adaptive': { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
  'output format': { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
  'service_tier: standard_only': { service_tier: 'standard_only' },
  'speed: standard': { speed: 'standard' },
  'mcp_servers: []': { mcp_servers: [] },
  'a thread that begins': {
    thread: { type: 'create' },
    diagnostics: { previous_message_id: null },
  },
  'a context that is cleared': {
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  },
  'many words': said(WORDS.repeat(2_600)),
}

const MESSAGES_MORE: Rows = {
  ...wrongMaxima('max_tokens'),
  ...EXTENSIONS,
  'inference_geo: us': { inference_geo: 'us' },
  'a web search': { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  'a web fetch': { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] },
  'code execution': { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
  'an advisor': {
    tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-6' }],
  },
  skills: { container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } },
  'a picture': user({ type: 'image', source: { type: 'url', url: URL } }),
  'a picture without a type': user({ source: { type: 'url', url: URL } }),
  'a picture that a tool returned': user({
    type: 'tool_result',
    tool_use_id: 't',
    content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
  }),
  'a budget beyond the maximum': {
    max_tokens: 100,
    thinking: { type: 'enabled', budget_tokens: 9_000 },
  },
  'a document': user({ type: 'document', source: PDF }),
  'a document of text': user({
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: WORDS },
  }),
  'a stored file': user({ type: 'document', source: { type: 'file', file_id: 'file_1' } }),
  'an upload to a container': user({ type: 'container_upload', file_id: 'file_1' }),
  'n: 9': { n: 9 },
}

export const TABLES: Readonly<Record<ModelApi, ApiTable>> = {
  'openai-chat': { question: said(WORDS), tokensOnly: CHAT_SENT, costsMore: CHAT_MORE },
  'openai-responses': {
    question: { input: WORDS },
    tokensOnly: RESPONSES_SENT,
    costsMore: RESPONSES_MORE,
  },
  'openai-completions': {
    question: { prompt: WORDS },
    tokensOnly: COMPLETIONS_SENT,
    costsMore: COMPLETIONS_MORE,
  },
  'openai-embeddings': {
    question: { input: WORDS },
    tokensOnly: EMBEDDINGS_SENT,
    costsMore: EMBEDDINGS_MORE,
  },
  'anthropic-messages': {
    question: said(WORDS),
    tokensOnly: MESSAGES_SENT,
    costsMore: MESSAGES_MORE,
  },
}
