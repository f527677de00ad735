/* The fields of docs/facts.md, "Fields of model calls": those that cost no more than the tokens that are counted, and others. */
import type { ModelApi } from '@sluice/ai'

export type Body = Readonly<Record<string, unknown>>

export const messages = [{ role: 'user', content: 'Why is the sky blue?' }]
export const QUESTIONS: Readonly<Partial<Record<ModelApi, Body>>> = {
  'openai-chat': { model: 'gpt-4o', messages },
  'openai-responses': { model: 'gpt-4o', input: 'Why?' },
  'anthropic-messages': { model: 'claude-opus-4-5', messages, max_tokens: 50 },
}
export const PATHS: Readonly<Partial<Record<ModelApi, string>>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
}

const clears = {
  edits: [{ type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: 3 } }],
}
const item = (more: Body): Body => ({ input: [{ role: 'user', content: 'Why?' }, more] })

/** Fields that cost no more than the tokens that are counted. */
export const SENT: readonly (readonly [vendor: string, ModelApi, Body])[] = [
  ['OpenAI', 'openai-chat', { prompt_cache_options: { mode: 'explicit', ttl: '30m' } }],
  ['OpenAI', 'openai-responses', { prompt_cache_options: { mode: 'implicit' } }],
  ['OpenAI', 'openai-chat', { service_tier: 'default' }],
  ['OpenAI', 'openai-responses', { tools: [{ type: 'local_shell' }] }],
  ['OpenAI', 'openai-responses', { tools: [{ type: 'apply_patch' }] }],
  ['OpenAI', 'openai-responses', { tools: [{ type: 'computer' }] }],
  [
    'OpenAI',
    'openai-responses',
    item({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }),
  ],
  ['Anthropic', 'anthropic-messages', { thread: { type: 'create' } }],
  ['Anthropic', 'anthropic-messages', { diagnostics: { previous_message_id: 'msg_1' } }],
  ['Anthropic', 'anthropic-messages', { context_management: clears }],
  [
    'Anthropic',
    'anthropic-messages',
    { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
  ],
  ['Anthropic', 'anthropic-messages', { output_config: { effort: 'xhigh' } }],
  ['Groq', 'openai-chat', { service_tier: 'on_demand' }],
  ['Groq', 'openai-chat', { reasoning_format: 'parsed' }],
  ['Groq', 'openai-chat', { include_reasoning: false }],
  ['DeepSeek', 'openai-chat', { thinking: { type: 'enabled' } }],
  ['Mistral', 'openai-chat', { safe_prompt: true, random_seed: 7 }],
  ['OpenRouter', 'openai-chat', { usage: { include: true } }],
  ['OpenRouter', 'openai-chat', { reasoning: { effort: 'low', exclude: true } }],
  ['vLLM', 'openai-chat', { top_k: 20, min_p: 0.1, ignore_eos: true }],
  ['vLLM', 'openai-chat', { guided_json: { type: 'object' } }],
]

const NOT_COUNTED =
  'may cost more than the tokens that are counted: leave it out, or allow it with allowFields'
const HIDDEN = (named: string): string =>
  `names input that only the provider has, "${named}": send it (items by store: false and include: ['reasoning.encrypted_content']), or set the option unseenTokens`

/** Fields whose cost is not bounded, with the text of the refusal. */
export const REFUSED: readonly (readonly [
  vendor: string,
  ModelApi,
  Body,
  field: string,
  says: string,
])[] = [
  [
    'OpenAI',
    'openai-chat',
    { prediction: { type: 'content', content: 'a' } },
    'prediction',
    NOT_COUNTED,
  ],
  [
    'OpenAI',
    'openai-chat',
    { prompt_cache_options: { ttl: '12h' } },
    'prompt_cache_options',
    NOT_COUNTED,
  ],
  ['OpenAI', 'openai-chat', { service_tier: 'priority' }, 'service_tier', NOT_COUNTED],
  ['OpenAI', 'openai-responses', { tools: [{ type: 'web_search' }] }, 'tools', NOT_COUNTED],
  ['OpenAI', 'openai-responses', { tools: [{ type: 'shell' }] }, 'tools', NOT_COUNTED],
  [
    'OpenAI',
    'openai-responses',
    { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] },
    'context_management',
    NOT_COUNTED,
  ],
  [
    'OpenAI',
    'openai-responses',
    item({ type: 'reasoning', id: 'rs_1', summary: [] }),
    'id',
    HIDDEN('rs_1'),
  ],
  [
    'OpenAI',
    'openai-responses',
    item({ type: 'item_reference', id: 'msg_1' }),
    'id',
    HIDDEN('msg_1'),
  ],
  [
    'OpenAI',
    'openai-responses',
    { previous_response_id: 'resp_1' },
    'previous_response_id',
    HIDDEN('previous_response_id'),
  ],
  [
    'Anthropic',
    'anthropic-messages',
    { thread: { type: 'continue', previous_message_id: 'msg_1' } },
    'thread',
    HIDDEN('thread'),
  ],
  [
    'Anthropic',
    'anthropic-messages',
    { context_management: { edits: [{ type: 'compact_20260112' }] } },
    'context_management',
    NOT_COUNTED,
  ],
  [
    'Anthropic',
    'anthropic-messages',
    { context_management: { edits: [{ type: { toString: 1 } }] } },
    'context_management',
    NOT_COUNTED,
  ],
  ['Mistral', 'openai-chat', { prompt_mode: 'reasoning' }, 'prompt_mode', NOT_COUNTED],
  ['xAI', 'openai-chat', { deferred: true }, 'deferred', NOT_COUNTED],
  ['anybody', 'openai-chat', { 'reasoning.': { pro: 1 }, turbo: 1 }, 'turbo', NOT_COUNTED],
]
