/* Bodies that another model takes as they are. */
import {
  budget,
  chat,
  claude,
  marked,
  messages,
  picture,
  prefill,
  responses,
  text,
  thought,
  tools,
  type Row,
} from './rows.ts'

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
