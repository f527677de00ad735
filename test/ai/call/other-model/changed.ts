/* Bodies that are changed for another model, where that is harmless. */
import {
  budget,
  call,
  chat,
  claude,
  marked,
  messages,
  reasoning,
  responses,
  result,
  text,
  thought,
  withoutId,
  type Body,
  type Row,
} from './rows.ts'

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
