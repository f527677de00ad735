/* The fields of Anthropic's messages. */
import {
  EXTENSIONS,
  maxima,
  PDF,
  said,
  SCHEMA,
  URL,
  user,
  WORDS,
  wrongMaxima,
  type Rows,
} from './shared.ts'

const tool = { name: 'weather', input_schema: SCHEMA }
const FOR_AN_HOUR = { type: 'ephemeral', ttl: '1h' }

export const MESSAGES_SENT: Rows = {
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

export const MESSAGES_MORE: Rows = {
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
