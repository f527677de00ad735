/* The rows of bodies that were written for one model and go to another, and their parts. */
import type { ModelApi } from '@sluice/ai'

export type Body = Readonly<Record<string, unknown>>
export type Row = readonly [api: ModelApi | undefined, from: string, to: string, body: Body]

export const chat = (from: string, to: string, body: Body): Row => ['openai-chat', from, to, body]
export const responses = (from: string, to: string, body: Body): Row => [
  'openai-responses',
  from,
  to,
  body,
]
export const claude = (from: string, to: string, body: Body): Row => [
  'anthropic-messages',
  from,
  to,
  body,
]

export const messages = [{ role: 'user', content: 'Hi' }]
export const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
export const tools = [{ type: 'function', function: { name: 'f' } }]
export const marked = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }
export const thought = { type: 'thinking', thinking: 'Hm.', signature: 'abc' }
export const text = { type: 'text', text: 'Hi' }
export const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
export const call = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'f',
  arguments: '{}',
}
export const result = { type: 'function_call_output', call_id: 'call_1', output: '1' }
export const withoutId = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
export const budget = { type: 'enabled', budget_tokens: 2_048 }
export const prefill = [...messages, { role: 'assistant', content: '{' }]
