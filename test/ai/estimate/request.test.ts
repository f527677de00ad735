import { estimateRequest, estimateTokens } from '@sluice/ai'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { countChatCompletionTokens } from 'gpt-tokenizer/model/gpt-4o'
import { describe, expect, it } from 'vitest'
import { LANGUAGES } from '../samples/languages.ts'

const MAX = 100_000_000_000_000
const english = LANGUAGES['English'] ?? ''
const count = (text: string): number => encode(text).length
const inputOf = (body: unknown): number => estimateRequest(body).input
const outputOf = (body: object, options = {}): number => estimateRequest(body, options).output

const messages = [
  { role: 'system', content: english },
  { role: 'user', content: 'Will it rain in Utrecht tomorrow?' },
]
const weather = {
  name: 'get_weather',
  description: 'The weather of a place on a day, as the meteorological office foretells it.',
  parameters: {
    type: 'object' as const,
    properties: {
      place: { type: 'string' as const, description: 'The place, such as Utrecht.' },
      unit: { type: 'string' as const, enum: ['celsius', 'fahrenheit'] },
      days: { type: 'number' as const, description: 'How many days ahead.' },
    },
    required: ['place'],
  },
}

describe('the input of a chat', () => {
  it('is within two tokens a message of what OpenAI counts, with a real tokenizer', () => {
    const exact = countChatCompletionTokens?.({ messages }) ?? 0
    const { input } = estimateRequest({ model: 'gpt-4o', messages }, { count })
    expect(input).toBeGreaterThanOrEqual(exact)
    expect(input).toBeLessThanOrEqual(exact + 2 * messages.length)
  })

  it('covers tools: at least as many tokens as OpenAI counts, at most three times as many', () => {
    const tools = [{ type: 'function', function: weather }]
    const without = estimateRequest({ model: 'gpt-4o', messages }, { count }).input
    const exact =
      (countChatCompletionTokens?.({ messages, functions: [weather] }) ?? 0) -
      (countChatCompletionTokens?.({ messages }) ?? 0)
    for (const body of [
      { model: 'gpt-4o', messages, tools },
      { model: 'gpt-4o', messages, functions: [weather] },
      { model: 'gpt-4o', messages, tools: [{ type: 'function', ...weather }] },
    ]) {
      const more = estimateRequest(body, { count }).input - without
      expect(more).toBeGreaterThanOrEqual(exact)
      expect(more).toBeLessThanOrEqual(exact * 3)
    }
  })

  it('is no less than the JSON of the schema of a structured answer', () => {
    const schema = { name: 'forecast', schema: weather.parameters }
    const json = count(JSON.stringify(schema))
    const without = estimateRequest({ messages }, { count }).input
    for (const body of [
      { messages, response_format: { type: 'json_schema', json_schema: schema } },
      { messages, text: { format: { type: 'json_schema', ...schema } } },
      { messages, output_config: { format: { type: 'json_schema', ...schema } } },
    ]) {
      expect(estimateRequest(body, { count }).input - without).toBeGreaterThanOrEqual(json * 0.9)
    }
  })

  it('is 1.3 times as much with the estimate, for English prose', () => {
    const exact = countChatCompletionTokens?.({ messages }) ?? 0
    const { input } = estimateRequest({ model: 'gpt-4o', messages })
    expect(input / exact).toBeGreaterThan(1)
    expect(input / exact).toBeLessThan(1.4)
  })
})

/** The same conversation in each format, with the text that the estimate must contain. */
const SAID: Readonly<Record<string, object>> = {
  'chat, text': { messages: [{ role: 'user', content: english }] },
  'chat, parts': { messages: [{ role: 'user', content: [{ type: 'text', text: english }] }] },
  'chat, a tool call': {
    messages: [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'say', arguments: english } },
        ],
      },
    ],
  },
  'chat, a tool result': { messages: [{ role: 'tool', tool_call_id: 'call_1', content: english }] },
  'chat, a prediction': { messages: [], prediction: { type: 'content', content: english } },
  'responses, text': { input: english },
  'responses, instructions': { input: 'Go on.', instructions: english },
  'responses, parts': {
    input: [{ role: 'user', content: [{ type: 'input_text', text: english }] }],
  },
  'responses, a call': {
    input: [{ type: 'function_call', call_id: 'call_1', name: 'say', arguments: english }],
  },
  'responses, a result': {
    input: [{ type: 'function_call_output', call_id: 'call_1', output: english }],
  },
  'responses, a list of results': {
    input: [
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [{ type: 'input_text', text: english }],
      },
    ],
  },
  'messages, text': { max_tokens: 9, messages: [{ role: 'user', content: english }] },
  'messages, a system prompt': { max_tokens: 9, system: english, messages: [] },
  'messages, a system prompt in blocks': {
    max_tokens: 9,
    system: [{ type: 'text', text: english, cache_control: { type: 'ephemeral' } }],
    messages: [],
  },
  'messages, a tool use': {
    messages: [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'say', input: { what: english } }],
      },
    ],
  },
  'messages, a tool result': {
    messages: [
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: english }],
      },
    ],
  },
  'messages, a document of text': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: english } },
        ],
      },
    ],
  },
  'messages, thinking': {
    messages: [
      {
        role: 'assistant',
        content: [{ type: 'thinking', thinking: english, signature: 'EqQBCgIYAhIkMTI' }],
      },
    ],
  },
  'legacy completions': { prompt: [english] },
  'a tool’s description': { tools: [{ type: 'function', name: 'say', description: english }] },
  'a parameter that is not known': { messages: [], hints: { some: [{ text: english }] } },
}

describe('the text of a request', () => {
  it.each(Object.entries(SAID))('counts once as input: %s', (_, body) => {
    const tokens = estimateTokens(english)
    expect(inputOf(body)).toBeGreaterThanOrEqual(tokens)
    expect(inputOf(body)).toBeLessThan(tokens * 1.3)
  })

  it('counts 1.5 times for a Claude model, but not with a counter of your own', () => {
    const body = { messages: [{ role: 'user', content: english }] }
    const plain = inputOf({ ...body, model: 'gpt-4o' })
    for (const model of ['claude-opus-4-5', 'anthropic/claude-3.5-sonnet', 'Claude']) {
      expect(inputOf({ ...body, model })).toBe(Math.ceil(plain * 1.5))
    }
    expect(estimateRequest({ ...body, model: 'claude-opus-4-5' }, { count }).input).toBeLessThan(
      plain,
    )
  })

  it('leaves out fields that no model reads', () => {
    const body = { messages: [{ role: 'user', content: 'Hello' }] }
    const more = {
      metadata: { note: english },
      user: english,
      stop: [english],
      logit_bias: { 1: 1 },
    }
    expect(inputOf({ ...body, ...more })).toBe(inputOf(body))
  })
})

describe('the estimated output', () => {
  it.each(['max_tokens', 'max_completion_tokens', 'max_output_tokens'])(
    'is read from %s',
    (name) => {
      expect(outputOf({ [name]: 700 })).toBe(700)
    },
  )

  it('is the larger of two maxima', () => {
    expect(outputOf({ max_tokens: 10, max_completion_tokens: 700 })).toBe(700)
  })

  it('is 4096 without a maximum, or as you configure', () => {
    expect(outputOf({})).toBe(4_096)
    expect(outputOf({}, { defaultOutput: 128_000 })).toBe(128_000)
  })

  it('is multiplied by the number of answers', () => {
    expect(outputOf({ max_tokens: 100, n: 3 })).toBe(300)
    expect(outputOf({ max_tokens: 100, n: 1, best_of: 5 })).toBe(500)
    expect(outputOf({ n: 2 })).toBe(8_192)
  })

  it('is multiplied by the number of prompts of a legacy completion', () => {
    const body = { model: 'gpt-3.5-turbo-instruct', max_tokens: 1_000 }
    const outputs = (prompt: unknown, more = {}): number => outputOf({ ...body, ...more, prompt })
    expect(outputs(Array(100).fill('hi'))).toBe(100_000)
    expect(outputs(Array(100).fill('hi'), { n: 2 })).toBe(200_000)
    expect(outputs(Array(10).fill('hi'), { n: 2, best_of: 5 })).toBe(50_000)
    expect(outputs([[1, 2, 3], [4]])).toBe(2_000)
    for (const one of ['hi', ['hi'], [1, 2, 3], [[1, 2, 3]], [], null]) {
      expect(outputs(one)).toBe(1_000)
    }
  })

  it.each([-1, 0, Number.NaN, -Infinity, 'many', '-5', null, true, [700], { valueOf: () => 1 }])(
    'is the default when the maximum is %j',
    (value) => {
      expect(outputOf({ max_tokens: value })).toBe(4_096)
      expect(outputOf({ max_tokens: 10, n: value })).toBe(10)
    },
  )

  it('is bounded, rounded up, and parsed from a string', () => {
    expect(outputOf({ max_tokens: 1e300 })).toBe(MAX)
    expect(outputOf({ max_tokens: Infinity })).toBe(MAX)
    expect(outputOf({ max_tokens: 1e12, n: 1e12 })).toBe(MAX)
    expect(outputOf({ max_tokens: 10.2 })).toBe(11)
    expect(outputOf({ max_tokens: '700', n: '2' })).toBe(1_400)
  })
})
