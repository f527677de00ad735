import { ConfigError, InputError } from '@sluice/core'
import { estimateRequest, estimateTokens } from '@sluice/core/llm'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { countChatCompletionTokens } from 'gpt-tokenizer/model/gpt-4o'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed } from '../support/mistakes.ts'
import { LANGUAGES } from './samples/languages.ts'

const MAX = 1_000_000_000_000
const english = LANGUAGES['English'] ?? ''
const count = (text: string): number => encode(text).length
const inputOf = (body: unknown): number => estimateRequest(body).input

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
  it('is what OpenAI counts, within two tokens a message, with a real tokenizer', () => {
    const exact = countChatCompletionTokens({ messages }) ?? 0
    const { input } = estimateRequest({ model: 'gpt-4o', messages }, { count })
    expect(input).toBeGreaterThanOrEqual(exact)
    expect(input).toBeLessThanOrEqual(exact + 2 * messages.length)
  })

  it('covers tools: no less than what OpenAI makes of them, at most three times', () => {
    const tools = [{ type: 'function', function: weather }]
    const without = estimateRequest({ model: 'gpt-4o', messages }, { count }).input
    const exact =
      (countChatCompletionTokens({ messages, functions: [weather] }) ?? 0) -
      (countChatCompletionTokens({ messages }) ?? 0)
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

  it('is no less than the JSON of a schema for a structured answer', () => {
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

  it('is 1.3 times that with the estimate, for prose in English', () => {
    const exact = countChatCompletionTokens({ messages }) ?? 0
    const { input } = estimateRequest({ model: 'gpt-4o', messages })
    expect(input / exact).toBeGreaterThan(1)
    expect(input / exact).toBeLessThan(1.4)
  })
})

/** The same said in each format, with the text that must be in the estimate. */
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

describe('what is said', () => {
  it.each(Object.entries(SAID))('is in the input once: %s', (_, body) => {
    const tokens = estimateTokens(english)
    expect(inputOf(body)).toBeGreaterThanOrEqual(tokens)
    expect(inputOf(body)).toBeLessThan(tokens * 1.3)
  })

  it('is taken times 1.5 for a Claude model, and not where you count yourself', () => {
    const body = { messages: [{ role: 'user', content: english }] }
    const plain = inputOf({ ...body, model: 'gpt-4o' })
    for (const model of ['claude-opus-4-5', 'anthropic/claude-3.5-sonnet', 'Claude']) {
      expect(inputOf({ ...body, model })).toBe(Math.ceil(plain * 1.5))
    }
    expect(estimateRequest({ ...body, model: 'claude-opus-4-5' }, { count }).input).toBeLessThan(
      plain,
    )
  })

  it('does not include what no model reads', () => {
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

describe('what is not text', () => {
  const data = 'A'.repeat(400_000)
  const chat = (detail?: string): object => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${data}`, detail } },
        ],
      },
    ],
  })
  const ofImage = (model: string, body: object): number =>
    inputOf({ ...body, model }) - inputOf({ messages: [{ role: 'user', content: [] }] })

  it.each([
    ['gpt-4o', undefined, 1_445],
    ['gpt-4o-2024-08-06', 'high', 1_445],
    ['gpt-4o', 'low', 85],
    ['openai/gpt-4.1', 'auto', 1_445],
    ['gpt-4o-mini', 'auto', 48_169],
    ['gpt-4o-mini', 'low', 2_833],
    ['gpt-5.4', undefined, 36_000],
    ['gpt-5.4', 'high', 15_115],
    ['gpt-5-mini', 'low', 630],
    ['a-gateways-own-name', undefined, 48_169],
  ])('is an image of %s with detail %s: at most %i tokens', (model, detail, tokens) => {
    const more = ofImage(model, chat(detail)) - tokens
    expect(more).toBeGreaterThanOrEqual(0)
    expect(more).toBeLessThanOrEqual(4)
  })

  it('is an image in the responses format, also as the result of a tool', () => {
    const image = { type: 'input_image', image_url: `data:image/png;base64,${data}` }
    for (const input of [
      [{ role: 'user', content: [image] }],
      [{ type: 'function_call_output', call_id: 'call_1', output: [image] }],
    ]) {
      expect(inputOf({ model: 'gpt-4o', input })).toBeGreaterThanOrEqual(1_445)
      expect(inputOf({ model: 'gpt-4o', input })).toBeLessThan(1_470)
    }
  })

  it('is an image for Claude: 4784 tokens at most, also in the result of a tool', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
    for (const content of [
      [image],
      [{ type: 'tool_result', tool_use_id: 't', content: [image] }],
    ]) {
      const input = inputOf({ model: 'claude-opus-5', messages: [{ role: 'user', content }] })
      expect(input).toBeGreaterThanOrEqual(4_784)
      expect(input).toBeLessThan(4_810)
    }
  })

  it('costs what you say an image costs', () => {
    const body = { ...chat(), model: 'gpt-4o-mini' }
    const { input } = estimateRequest(body, { imageTokens: 25_501 })
    expect(input).toBeGreaterThanOrEqual(25_501)
    expect(input).toBeLessThan(25_520)
  })

  it.each<[string, object]>([
    [
      'a file',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: data } }] }] },
    ],
    [
      'a file by its id',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
    ],
    [
      'a sound',
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data } }] }] },
    ],
    [
      'a PDF',
      {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'base64', data } }] },
        ],
      },
    ],
    ['an earlier response', { input: 'Go on.', previous_response_id: 'resp_1' }],
    ['a conversation', { input: 'Go on.', conversation: { id: 'conv_1' } }],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }],
    ['an item by reference', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
  ])('is unseen: %s counts 20,000, or what you say', (_, body) => {
    expect(inputOf(body)).toBeGreaterThanOrEqual(20_000)
    expect(inputOf(body)).toBeLessThan(20_050)
    expect(estimateRequest(body, { unseenTokens: 500 }).input).toBeLessThan(550)
  })

  it('does not hide text beside it', () => {
    const part = { type: 'image_url', image_url: { url: 'x' }, text: english }
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: [part] }] }
    expect(inputOf(body)).toBeGreaterThan(1_445 + estimateTokens(english))
  })

  it('is what Anthropic adds for tools', () => {
    const body = { model: 'claude-opus-5', max_tokens: 9, messages: [] }
    const tools = [{ name: 'a', input_schema: { type: 'object' } }]
    expect(inputOf({ ...body, tools }) - inputOf(body)).toBeGreaterThan(804)
    expect(inputOf({ ...body, tools: [] }) - inputOf(body)).toBeLessThan(10)
  })
})

describe('the output', () => {
  const outputOf = (body: object, options = {}): number => estimateRequest(body, options).output

  it.each(['max_tokens', 'max_completion_tokens', 'max_output_tokens'])('is %s', (name) => {
    expect(outputOf({ [name]: 700 })).toBe(700)
  })

  it('is the larger of two maxima', () => {
    expect(outputOf({ max_tokens: 10, max_completion_tokens: 700 })).toBe(700)
  })

  it('is 4096 where there is no maximum, or what you say', () => {
    expect(outputOf({})).toBe(4_096)
    expect(outputOf({}, { defaultOutput: 128_000 })).toBe(128_000)
  })

  it('is that of each answer', () => {
    expect(outputOf({ max_tokens: 100, n: 3 })).toBe(300)
    expect(outputOf({ max_tokens: 100, n: 1, best_of: 5 })).toBe(500)
    expect(outputOf({ n: 2 })).toBe(8_192)
  })

  it.each([-1, 0, Number.NaN, -Infinity, 'many', '-5', null, true, [700], { valueOf: () => 1 }])(
    'is the default when the maximum is %j',
    (value) => {
      expect(outputOf({ max_tokens: value })).toBe(4_096)
      expect(outputOf({ max_tokens: 10, n: value })).toBe(10)
    },
  )

  it('is bounded, rounded up, and read out of a string', () => {
    expect(outputOf({ max_tokens: 1e300 })).toBe(MAX)
    expect(outputOf({ max_tokens: Infinity })).toBe(MAX)
    expect(outputOf({ max_tokens: 1e12, n: 1e12 })).toBe(MAX)
    expect(outputOf({ max_tokens: 10.2 })).toBe(11)
    expect(outputOf({ max_tokens: '700', n: '2' })).toBe(1_400)
  })
})

describe('a body from a stranger', () => {
  it.each([null, undefined, 'text', 5, true, [], [{ messages: [] }]])('%j is refused', (body) => {
    expect(() => estimateRequest(body)).toThrow(InputError)
    expect(() => estimateRequest(body)).toThrow(/^body: must be the parsed JSON object/)
  })

  it('may nest as deeply as it is long', () => {
    const deep = `${'['.repeat(200_000)}"x"${']'.repeat(200_000)}`
    for (const name of ['messages', 'tools', 'input']) {
      expect(inputOf(JSON.parse(`{"${name}":${deep}}`))).toBeGreaterThan(0)
    }
    const objects = `${'{"a":'.repeat(100_000)}"x"${'}'.repeat(100_000)}`
    expect(inputOf(JSON.parse(`{"messages":${objects}}`))).toBeGreaterThan(0)
  })

  it('of more than a million values is refused, and one that holds itself', () => {
    const many = { messages: Array.from({ length: 1_000_001 }, () => 0) }
    const self: { messages: unknown[] } = { messages: [] }
    self.messages.push(self)
    for (const body of [many, self]) {
      expect(() => estimateRequest(body)).toThrow(/at most 1000000 values/)
    }
  })

  it('may use names that objects have', () => {
    const body: unknown = JSON.parse(
      `{"__proto__":{"max_tokens":9,"model":"gpt-4o"},"constructor":{"a":"b"},"messages":[{"__proto__":{"type":"image"},"role":"user","content":"hello"}]}`,
    )
    const estimate = estimateRequest(body)
    expect(estimate).toMatchObject({ model: undefined, output: 4_096 })
    expect(estimate.input).toBeLessThan(60)
  })

  it('always yields whole numbers from 0 to 10^12', () => {
    const keys = fc.constantFrom(
      ...['messages', 'input', 'system', 'tools', 'content', 'type', 'text', 'image_url', 'source'],
      ...[
        'max_tokens',
        'n',
        'model',
        'role',
        'detail',
        '__proto__',
        'constructor',
        'file',
        'prompt',
      ],
    )
    const leaf = fc.oneof(
      fc.string(),
      fc.double(),
      fc.boolean(),
      fc.constantFrom(null, 'image', 'document', 'file', 'input_audio', 'image_url', 'gpt-4o'),
    )
    const body = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        leaf,
        fc.array(tie('value'), { maxLength: 4 }),
        tie('object'),
      ),
      object: fc.dictionary(keys, tie('value'), { maxKeys: 5 }),
    })).object
    fc.assert(
      fc.property(body, (value) => {
        const { input, output } = estimateRequest(value)
        for (const tokens of [input, output]) {
          expect(Number.isInteger(tokens) && tokens >= 0 && tokens <= MAX).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('is never estimated below the text that it holds', () => {
    const text = fc.string({ minLength: 1, maxLength: 200 })
    const part = fc.oneof(
      text,
      fc.record({ type: fc.constantFrom('text', 'input_text', 'refusal'), text }),
    )
    const message = fc.record({
      role: fc.constantFrom('user', 'assistant'),
      content: fc.oneof(text, fc.array(part)),
    })
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), (list) => {
        const texts = list
          .flatMap(({ content }) => content)
          .map((item) => (typeof item === 'string' ? item : item.text))
        const sum = texts.reduce((total, item) => total + estimateTokens(item), 0)
        expect(inputOf({ messages: list })).toBeGreaterThanOrEqual(sum)
      }),
    )
  })

  it('of ten megabytes takes no longer than its length asks for', () => {
    const body = { messages: [{ role: 'user', content: 'a"\\ 的'.repeat(2_000_000) }] }
    const start = performance.now()
    expect(inputOf(body)).toBeGreaterThan(1_000_000)
    expect(performance.now() - start).toBeLessThan(5_000)
  })
})

describe('a mistake in the options of estimateRequest is an error that names the option', () => {
  const estimate = loosely((options: never) => estimateRequest({ messages: ['hello'] }, options))
  mistakesAreNamed([
    ['no object', () => estimate(5), 'estimateRequest'],
    ['unknown', () => estimate({ image: 1 }), 'estimateRequest.image', 'unknown_option'],
    ['a count that is none', () => estimate({ count: 4 }), 'estimateRequest.count'],
    ['a default of 0', () => estimate({ defaultOutput: 0 }), 'estimateRequest.defaultOutput'],
    ['half a token', () => estimate({ imageTokens: 1.5 }), 'estimateRequest.imageTokens'],
    ['less than nothing', () => estimate({ unseenTokens: -1 }), 'estimateRequest.unseenTokens'],
  ])

  it.each([Number.NaN, -1, Infinity, '5', undefined])('a count that returns %j', (value) => {
    expect(() => estimate({ count: () => value })).toThrow(ConfigError)
    expect(() => estimate({ count: () => value })).toThrow('estimateRequest.count')
  })
})
