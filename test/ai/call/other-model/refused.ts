/* Bodies that another model cannot take, and the field and the reason of it. */
import {
  chat,
  claude,
  messages,
  picture,
  prefill,
  responses,
  text,
  tools,
  type Row,
} from './rows.ts'

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
