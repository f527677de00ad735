/* Bodies that were written for one model, and what becomes of them for another. */
import type { ModelApi } from '@sluice/ai'

type Body = Readonly<Record<string, unknown>>
export type Row = readonly [api: ModelApi | undefined, from: string, to: string, body: Body]

const chat = (from: string, to: string, body: Body): Row => ['openai-chat', from, to, body]
const responses = (from: string, to: string, body: Body): Row => [
  'openai-responses',
  from,
  to,
  body,
]
const claude = (from: string, to: string, body: Body): Row => ['anthropic-messages', from, to, body]

const messages = [{ role: 'user', content: 'Hi' }]
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
const tools = [{ type: 'function', function: { name: 'f' } }]
const marked = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'abc' }
const text = { type: 'text', text: 'Hi' }
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' }
const result = { type: 'function_call_output', call_id: 'call_1', output: '1' }
const withoutId = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
const budget = { type: 'enabled', budget_tokens: 2_048 }
const prefill = [...messages, { role: 'assistant', content: '{' }]

export const CHANGED: readonly (readonly [Row, body: Body, changed: readonly string[]])[] = [
  // Effort
  [
    chat('gpt-5-mini', 'gpt-6-luna', { reasoning_effort: 'minimal' }),
    { reasoning_effort: 'low' },
    ['reasoning_effort'],
  ],
  [
    chat('gpt-6-luna', 'gpt-5.5', { reasoning_effort: 'max' }),
    { reasoning_effort: 'xhigh' },
    ['reasoning_effort'],
  ],
  [
    chat('gpt-6-luna', 'o3', { reasoning_effort: 'max' }),
    { reasoning_effort: 'high' },
    ['reasoning_effort'],
  ],
  [chat('gpt-6-luna', 'gpt-4o', { reasoning_effort: 'none' }), {}, ['reasoning_effort']],
  [
    responses('gpt-5', 'gpt-5-pro', { reasoning: { effort: 'low', summary: 'auto' } }),
    { reasoning: { effort: 'high', summary: 'auto' } },
    ['reasoning.effort'],
  ],
  [
    responses('gpt-6-sol', 'gpt-4.1', {
      reasoning: { effort: 'low' },
      include: ['reasoning.encrypted_content'],
      store: false,
    }),
    { store: false },
    ['reasoning', 'include'],
  ],
  [
    responses('gpt-6-sol', 'gpt-4.1', {
      include: ['reasoning.encrypted_content', 'file_search_call.results'],
    }),
    { include: ['file_search_call.results'] },
    ['include'],
  ],
  [
    claude('claude-opus-5', 'claude-sonnet-4-6', { output_config: { effort: 'xhigh' } }),
    { output_config: { effort: 'high' } },
    ['output_config.effort'],
  ],
  [
    claude('claude-opus-4-6', 'claude-opus-4-5', { output_config: { effort: 'max' } }),
    { output_config: { effort: 'high' } },
    ['output_config.effort'],
  ],
  [
    claude('claude-opus-5', 'claude-haiku-4-5', { output_config: { effort: 'low' } }),
    {},
    ['output_config.effort'],
  ],
  [
    claude('claude-opus-5', 'anthropic/claude-haiku-4.5', {
      output_config: { effort: 'low', format: 1 },
    }),
    { output_config: { format: 1 } },
    ['output_config.effort'],
  ],
  // Sampling
  [
    chat('gpt-4o', 'gpt-6-luna', { messages, temperature: 0, top_p: 1 }),
    { messages },
    ['temperature', 'top_p'],
  ],
  [
    chat('gpt-4o', 'gpt-5.1', { temperature: 0, reasoning_effort: 'low' }),
    { reasoning_effort: 'low' },
    ['temperature'],
  ],
  [
    chat('gpt-4o', 'o3', {
      logprobs: false,
      top_logprobs: 0,
      frequency_penalty: 1,
      presence_penalty: 1,
      logit_bias: {},
    }),
    {},
    ['frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs', 'top_logprobs'],
  ],
  [
    responses('gpt-4.1', 'gpt-6.2-sol', { temperature: 0.2, top_logprobs: 0 }),
    {},
    ['temperature', 'top_logprobs'],
  ],
  [
    claude('claude-sonnet-4-6', 'claude-sonnet-5-5', { temperature: 1, top_k: 5, top_p: 1 }),
    {},
    ['temperature', 'top_p', 'top_k'],
  ],
  // Thinking
  [
    claude('claude-sonnet-4-5', 'claude-sonnet-5-5', { thinking: budget }),
    { thinking: { type: 'adaptive' } },
    ['thinking'],
  ],
  [
    claude('claude-sonnet-4-5', 'claude-opus-4-7', { thinking: { ...budget, display: 'omitted' } }),
    { thinking: { type: 'adaptive', display: 'omitted' } },
    ['thinking'],
  ],
  [
    claude('claude-sonnet-5-5', 'claude-haiku-4-5', { thinking: { type: 'adaptive' } }),
    {},
    ['thinking'],
  ],
  [
    claude('claude-opus-5', 'claude-sonnet-5-5', { thinking: { type: 'disabled' } }),
    { thinking: { type: 'between_tools' } },
    ['thinking'],
  ],
  [
    claude('claude-sonnet-5-5', 'claude-haiku-5-5', { thinking: { type: 'between_tools' } }),
    { thinking: { type: 'disabled' } },
    ['thinking'],
  ],
  [
    claude('claude-sonnet-5', 'claude-opus-5', {
      thinking: { type: 'disabled' },
      output_config: { effort: 'max' },
    }),
    { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
    ['output_config.effort'],
  ],
  // Reasoning and thinking of others
  [
    responses('gpt-6-sol', 'gpt-6-luna', { input: [...messages, reasoning, call, result] }),
    { input: [...messages, withoutId, result] },
    ['input'],
  ],
  [
    responses('gpt-6-sol', 'grok-4.7', { input: [reasoning, result] }),
    { input: [result] },
    ['input'],
  ],
  [
    claude('claude-opus-5', 'deepseek-flash', {
      messages: [
        ...messages,
        { role: 'assistant', content: [thought, text] },
        { role: 'assistant', content: [thought] },
      ],
    }),
    { messages: [...messages, { role: 'assistant', content: [text] }] },
    ['messages'],
  ],
  [
    claude('deepseek-flash', 'claude-opus-5', {
      messages: [...messages, { role: 'assistant', content: [thought, text] }, ...messages],
    }),
    { messages: [...messages, { role: 'assistant', content: [text] }, ...messages] },
    ['messages'],
  ],
  // Caches and style
  [
    chat('anthropic/claude-opus-5', 'openai/gpt-6-luna', {
      messages: [{ role: 'user', content: [marked] }],
      cache_control: {},
    }),
    { messages: [{ role: 'user', content: [text] }] },
    ['cache_control', 'messages'],
  ],
  [
    chat('gpt-5.5', 'gpt-6-luna', { prompt_cache_retention: '24h' }),
    {},
    ['prompt_cache_retention'],
  ],
  [
    responses('gpt-6-luna', 'gpt-5.5', { prompt_cache_options: { ttl: '30m' } }),
    {},
    ['prompt_cache_options'],
  ],
  [chat('gpt-6-luna', 'gpt-4o', { verbosity: 'low' }), {}, ['verbosity']],
  [
    responses('gpt-6-luna', 'o3', { text: { verbosity: 'high', format: 1 } }),
    { text: { format: 1 } },
    ['text.verbosity'],
  ],
]

export const PASSED: readonly (readonly [Row])[] = [
  chat('gpt-6.2-sol', 'gpt-6-luna', {
    messages,
    reasoning_effort: 'max',
    verbosity: 'low',
    seed: 1,
  }),
  chat('gpt-4o', 'gpt-6-luna', {
    messages,
    temperature: 0,
    reasoning_effort: 'none',
    logprobs: true,
  }),
  chat('gpt-4o', 'gpt-5.2', { messages, temperature: 0, top_p: 1 }),
  chat('gpt-4o', 'gpt-4.1-mini', { messages, temperature: 0, stop: ['x'], logit_bias: { 1: 1 } }),
  chat('gpt-4o', 'gpt-6-luna', { messages, temperature: null, stop: null, tools: [] }),
  chat('gpt-4o', 'gpt-6-luna', { messages, tools, reasoning_effort: 'none' }),
  chat('gpt-4o', 'gpt-5.4', { messages, tools }),
  chat('gpt-4o', 'gpt-5.2', { messages, tools, reasoning_effort: 'high' }),
  chat('gpt-6-luna', 'mistral-large-4', { messages, reasoning_effort: 'max', temperature: 1 }),
  chat('anthropic/claude-opus-5', 'anthropic/claude-haiku-4-5', {
    messages: [{ role: 'user', content: [marked] }],
    reasoning_effort: 'low',
  }),
  chat('gpt-6-luna', 'gpt-4o', {
    messages: [{ role: 'user', content: [picture] }],
    verbosity: 'medium',
  }),
  responses('gpt-6-sol', 'gpt-6-luna', {
    input: 'Hi',
    tools,
    previous_response_id: 'resp_1',
    temperature: 1,
    reasoning: { effort: 'none' },
  }),
  responses('gpt-6-sol', 'gpt-6-luna', {
    input: [{ type: 'item_reference', id: 'x' }],
    conversation: 'conv_1',
  }),
  responses('my-large', 'my-small', { input: 'Hi', previous_response_id: 'resp_1' }),
  claude('claude-opus-5', 'claude-sonnet-5-5', {
    messages: [...messages, { role: 'assistant', content: [thought, text] }, ...messages],
    thinking: { type: 'adaptive' },
    output_config: { effort: 'max' },
  }),
  claude('claude-opus-4-5', 'claude-sonnet-4-6', {
    messages,
    thinking: budget,
    temperature: 1,
    top_p: 1,
  }),
  claude('claude-opus-4-8', 'claude-sonnet-5', {
    thinking: { type: 'disabled' },
    output_config: { effort: 'max' },
  }),
  claude('claude-opus-4-5', 'claude-haiku-4-5', {
    messages: prefill,
    tool_choice: { type: 'any' },
  }),
  claude('claude-opus-5', 'claude-haiku-5-5', {
    messages,
    tool_choice: { type: 'tool', name: 'f' },
  }),
  claude('claude-opus-5', 'claude-sonnet-5-5', {
    messages,
    tool_choice: { type: 'auto' },
    system: [marked],
  }),
  claude('claude-opus-5', 'deepseek-flash', {
    messages: [{ role: 'user', content: [marked] }],
    thread: { type: 'create' },
  }),
  // A tool's input is data of the caller's.
  claude('claude-opus-5', 'deepseek-v4-pro', {
    messages: [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', input: { type: 'image', file_id: 'x' } }],
      },
      ...messages,
    ],
  }),
].map((row) => [row])

const REASONS = 'it reasons, and'
const KEPT = 'another vendor keeps what it names'
const NO_PICTURES = 'it reads no pictures'
const NO_TOOLS = 'it takes them over chat completions only with reasoning_effort "none"'

export const REFUSED: readonly (readonly [Row, field: string, because: string])[] = [
  [
    chat('gpt-6-luna', 'gpt-6-astra', { reasoning_effort: 'none' }),
    'reasoning_effort',
    'it always reasons',
  ],
  [
    responses('gpt-6-luna', 'gpt-5-mini', { reasoning: { effort: 'none' } }),
    'reasoning.effort',
    'it always reasons',
  ],
  [
    chat('gpt-4o', 'gpt-6-luna', { logprobs: true, top_logprobs: 2 }),
    'logprobs',
    `${REASONS} reports no probabilities`,
  ],
  [
    responses('gpt-4o', 'o3', { top_logprobs: 2 }),
    'top_logprobs',
    `${REASONS} reports no probabilities`,
  ],
  [
    responses('gpt-4o', 'o3', { include: ['message.output_text.logprobs'] }),
    'include',
    `${REASONS} reports no probabilities`,
  ],
  [chat('gpt-4o', 'gpt-6-luna', { stop: ['x'] }), 'stop', `${REASONS} takes no stop sequences`],
  [chat('gpt-4o', 'o4-mini', { stop: 'x' }), 'stop', `${REASONS} takes no stop sequences`],
  [
    chat('gpt-4o', 'gpt-5', { logit_bias: { 1: -100 } }),
    'logit_bias',
    `${REASONS} takes no biases`,
  ],
  [chat('gpt-4o', 'gpt-6-luna', { tools }), 'tools', NO_TOOLS],
  [chat('gpt-4o', 'gpt-5.6-terra', { functions: [{ name: 'f' }] }), 'functions', NO_TOOLS],
  [chat('gpt-4o', 'gpt-5.4', { tools, reasoning_effort: 'low' }), 'tools', NO_TOOLS],
  [
    chat('gpt-4o', 'gpt-5-pro', { messages }),
    'messages',
    'it is offered over the Responses API only',
  ],
  [
    chat('gpt-4o', 'gpt-5.3-codex', { messages }),
    'messages',
    'it is offered over the Responses API only',
  ],
  [
    responses('gpt-6-luna', 'grok-4.7', { previous_response_id: 'resp_1' }),
    'previous_response_id',
    KEPT,
  ],
  [responses('gpt-6-luna', 'grok-4.7', { conversation: 'conv_1' }), 'conversation', KEPT],
  [responses('gpt-6-luna', 'grok-4.7', { prompt: { id: 'pmpt_1' } }), 'prompt', KEPT],
  [
    responses('gpt-6-luna', 'grok-4.7', { input: [{ type: 'item_reference', id: 'x' }] }),
    'input',
    KEPT,
  ],
  [
    chat('gpt-6-luna', 'grok-4.7', {
      messages: [{ role: 'user', content: [{ type: 'file', file_id: 'x' }] }],
    }),
    'messages',
    KEPT,
  ],
  [claude('claude-opus-5', 'deepseek-flash', { thread: { type: 'continue' } }), 'thread', KEPT],
  [
    chat('gpt-4o', 'o3-mini', { messages: [{ role: 'user', content: [picture] }] }),
    'messages',
    NO_PICTURES,
  ],
  [
    responses('gpt-4o', 'gpt-3.5-turbo', {
      input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'x' }] }],
    }),
    'input',
    NO_PICTURES,
  ],
  [
    claude('claude-opus-5', 'deepseek-v4-pro', {
      messages: [
        {
          role: 'user',
          content: [{ type: 'tool_result', content: [{ type: 'image', source: {} }] }],
        },
      ],
    }),
    'messages',
    NO_PICTURES,
  ],
  [
    [
      undefined,
      'gpt-4o',
      'llama-3.3-70b-versatile',
      { messages: [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png' }] }] },
    ],
    'messages',
    NO_PICTURES,
  ],
  [
    claude('claude-opus-5', 'claude-opus-5-5', { thinking: { type: 'disabled' } }),
    'thinking',
    'it always thinks',
  ],
  [
    claude('claude-sonnet-5-5', 'claude-fable-5', { thinking: { type: 'between_tools' } }),
    'thinking',
    'it always thinks',
  ],
  [
    claude('claude-opus-4-5', 'claude-opus-4-6', { messages: prefill }),
    'messages',
    'it takes no beginning of its answer',
  ],
  [
    claude('claude-opus-4-5', 'claude-sonnet-5-5', {
      messages: [...messages, { role: 'assistant', content: [text] }],
    }),
    'messages',
    'it takes no beginning of its answer',
  ],
  [
    claude('claude-opus-5', 'claude-sonnet-5-5', { tool_choice: { type: 'any' } }),
    'tool_choice',
    'it cannot be made to call a tool',
  ],
  [
    claude('claude-opus-5', 'claude-fable-5-1', { tool_choice: { type: 'tool', name: 'f' } }),
    'tool_choice',
    'it cannot be made to call a tool',
  ],
  [
    claude('claude-opus-5', 'claude-opus-5-5', { tools: [{ type: 'computer_20251124' }] }),
    'tools',
    'it does not know computer_20251124',
  ],
]

export const ALL: readonly Row[] = [...CHANGED, ...PASSED, ...REFUSED].map(([row]) => row)
