import {
  estimateRequest,
  limitedFetch,
  modelHandler,
  type CallOptions,
  type ModelApi,
} from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { limiterOf, PRICES, subject, used } from '../doors.ts'

type Body = Readonly<Record<string, unknown>>

const ofUser = (...content: object[]): Body => ({ messages: [{ role: 'user', content }] })
const items = (...input: object[]): Body => ({ input })
const ofItem = (...content: object[]): Body => items({ role: 'user', content })
const ofTool = (...content: object[]): Body =>
  ofUser({ type: 'tool_result', tool_use_id: 't', content })

/** Input that only the provider has, or sound, and the field by which an error names it. */
const HIDDEN: Readonly<Partial<Record<ModelApi, Readonly<Record<string, [string, Body]>>>>> = {
  'openai-chat': {
    'a file by its id': ['file_id', ofUser({ type: 'file', file: { file_id: 'file-1' } })],
    'a file by its address': [
      'file_data',
      ofUser({ type: 'file', file: { file_data: 'https://a/b' } }),
    ],
    'a file without a type': ['file_id', ofUser({ file: { file_id: 'file-1' } })],
    'a document by its address': [
      'document_url',
      ofUser({ type: 'document_url', document_url: 'https://a/b' }),
    ],
    'a file of Mistral': ['file_id', ofUser({ type: 'file', file_id: 'f' })],
    'a sound by its address': ['audio_url', ofUser({ type: 'audio_url', audio_url: { url: 'u' } })],
    'a film': ['video_url', ofUser({ type: 'video_url', video_url: { url: 'https://a/b' } })],
    'a film in the body': [
      'video_url',
      ofUser({ type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } }),
    ],
    'a sound': [
      'input_audio',
      ofUser({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    ],
    'a sound as a file': [
      'file_data',
      ofUser({ type: 'file', file: { file_data: 'data:audio/wav;base64,AAAA' } }),
    ],
    'an earlier sound': ['id', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
  },
  'openai-responses': {
    'an earlier response': ['previous_response_id', { input: 'And?', previous_response_id: 'r_1' }],
    'a conversation': ['conversation', { input: 'And?', conversation: { id: 'conv_1' } }],
    'a conversation by its id': ['conversation', { input: 'And?', conversation: 'conv_1' }],
    'a file by its id': ['file_id', ofItem({ type: 'input_file', file_id: 'file-1' })],
    'a file by its address': ['file_url', ofItem({ type: 'input_file', file_url: 'https://a/b' })],
    'a file of a tool': [
      'file_id',
      items({ type: 'function_call_output', output: [{ type: 'input_file', file_id: 'f' }] }),
    ],
    'an item by reference': ['id', items({ type: 'item_reference', id: 'msg_1' })],
    'an item by its id': ['id', items({ id: 'msg_1' })],
    'an item that has only an id': ['id', items({ type: 'image_generation_call', id: 'ig_1' })],
    'stored reasoning': ['id', items({ type: 'reasoning', id: 'rs_1', summary: [] })],
    'a sound': ['input_audio', ofItem({ type: 'input_audio', input_audio: { data: 'AAAA' } })],
    'a sound as a file': [
      'file_data',
      ofItem({ type: 'input_file', file_data: 'data:audio/mpeg;base64,AAAA' }),
    ],
  },
  'anthropic-messages': {
    'a document by its id': [
      'file_id',
      ofUser({ type: 'document', source: { type: 'file', file_id: 'f' } }),
    ],
    'a document by its address': [
      'url',
      ofUser({ type: 'document', source: { type: 'url', url: 'https://a/b' } }),
    ],
    'a document of a tool': [
      'file_id',
      ofTool({ type: 'document', source: { type: 'file', file_id: 'f' } }),
    ],
    'a file for a container': ['file_id', ofUser({ type: 'container_upload', file_id: 'f' })],
  },
}

/** Input that is in the body, or bounded: pictures. */
const VISIBLE: Readonly<Partial<Record<ModelApi, Readonly<Record<string, Body>>>>> = {
  'openai-chat': {
    'a file': ofUser({ type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }),
    'a picture': ofUser({ type: 'image_url', image_url: { url: 'https://a/b.png' } }),
    'tool calls': {
      messages: [
        { role: 'user', content: 'Why?' },
        {
          role: 'assistant',
          content: null,
          audio: null,
          tool_calls: [
            { id: 'c', type: 'function', function: { name: 'f', arguments: '{"file_id":"f"}' } },
            { id: 'd', function: { name: 'f', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c', content: '{"file_id":"f"}' },
      ],
    },
  },
  'openai-responses': {
    'a picture by its id': ofItem({ type: 'input_image', file_id: 'file-1' }),
    'no earlier response': { input: 'And?', previous_response_id: null, conversation: null },
    'encrypted reasoning': items({ type: 'reasoning', id: 'r', encrypted_content: 'gAAA' }),
    'items that say all themselves': items(
      { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'nothing' },
      {
        type: 'message',
        id: 'm',
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: 'x',
            annotations: [{ type: 'file_citation', file_id: 'f', filename: 'a', index: 0 }],
          },
        ],
      },
    ),
    'tools that the client runs': items(
      { role: 'user', content: 'Why?' },
      { type: 'additional_tools', tools: [{ type: 'function', name: 'f', parameters: {} }] },
    ),
  },
  'anthropic-messages': {
    'a picture by its id': ofUser({ type: 'image', source: { type: 'file', file_id: 'f' } }),
    'a document': ofUser({ type: 'document', source: { type: 'base64', data: 'AAAA' } }),
    'a document in words': ofUser({ type: 'document', source: { type: 'text', data: 'Because' } }),
    'a search result': ofUser({
      type: 'search_result',
      source: 'https://a',
      title: 'A',
      content: [{ type: 'text', text: 'Because.' }],
    }),
    'a tool that the client runs': {
      messages: [
        {
          role: 'system',
          content: [
            {
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: { name: 'f', input_schema: {} } },
            },
          ],
        },
      ],
    },
    'the input of a tool': ofUser({
      type: 'tool_use',
      id: 't',
      name: 'f',
      input: { file_id: 'f', id: 'x', tools: [{ type: 'web_search' }] },
    }),
  },
}

/** Tools that the provider runs, among the messages. */
const TOOLS: readonly [ModelApi, string, Body][] = [
  [
    'openai-responses',
    'additional tools',
    items({ type: 'additional_tools', tools: [{ type: 'web_search' }] }),
  ],
  [
    'anthropic-messages',
    'an added tool',
    {
      messages: [
        {
          role: 'system',
          content: [
            {
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: { type: 'web_search_20250305' } },
            },
          ],
        },
      ],
    },
  ],
]

const PATHS: Readonly<Record<string, string>> = {
  'anthropic-messages': '/v1/messages',
  'openai-responses': '/v1/responses',
  'openai-chat': '/v1/chat/completions',
}
const modelOf = (api: ModelApi): string =>
  api === 'anthropic-messages' ? 'claude-opus-4-5' : 'gpt-4o'

/** Sends a body through a door. Returns the answer, and how much was held while the provider was asked. */
type Send = (
  api: ModelApi,
  body: Body,
  options?: Partial<CallOptions>,
) => Promise<{ answer: Response; held: number | undefined }>

const DOORS: Readonly<Record<string, Send>> = {
  async modelHandler(api, body, options) {
    const limiter = limiterOf()
    let held: number | undefined
    const handle = modelHandler(
      limiter,
      { subject, api, prices: PRICES, maxOutput: 1, ...options },
      async () => {
        held = await used(limiter, 'tpm')
        return Response.json({})
      },
    )
    const text = JSON.stringify({ model: modelOf(api), ...body })
    const request = new Request('https://app.example/', { method: 'POST', body: text })
    return { answer: await handle(request), held }
  },
  async limitedFetch(api, body, options) {
    const limiter = limiterOf()
    let held: number | undefined
    const limited = limitedFetch(limiter, {
      subject: subject(),
      prices: PRICES,
      maxOutput: 1,
      fetch: async () => {
        held = await used(limiter, 'tpm')
        return Response.json({})
      },
      ...options,
    })
    const text = JSON.stringify({ model: modelOf(api), ...body })
    const init = { method: 'POST', body: text }
    return { answer: await limited(`https://api.example${PATHS[api]}`, init), held }
  },
}

const APIS = Object.keys(HIDDEN) as ModelApi[]
const hidden = APIS.flatMap((api) =>
  Object.entries(HIDDEN[api] ?? {}).map(([name, [field, body]]) => ({ api, name, field, body })),
)
const visible = APIS.flatMap((api) =>
  Object.entries(VISIBLE[api] ?? {}).map(([name, body]) => ({ api, name, body })),
)

describe.each(Object.entries(DOORS))('%s', (_, send) => {
  it.each(hidden)('refuses $name by $api, and names $field', async ({ api, field, body }) => {
    // A field that may be sent has hidden input nevertheless.
    for (const options of [{}, { allowFields: [field] }]) {
      const { answer, held } = await send(api, body, options)
      expect(answer.status).toBe(400)
      const text = await answer.text()
      const why = /audio|video/.test(field) ? 'is sound' : 'names input that only the provider has'
      expect(text).toContain(`body.${field}: ${why}`)
      expect(text).toContain('the option unseenTokens')
      expect(held).toBeUndefined()
    }
  })

  it.each(hidden)('takes $name by $api at the price of unseenTokens', async ({ api, body }) => {
    const { answer, held = 0 } = await send(api, body, { unseenTokens: 50_000 })
    expect(answer.status).toBe(200)
    expect(held).toBeGreaterThanOrEqual(50_000)
    expect(held).toBeLessThan(50_100)
  })

  it.each(visible)('sends $name by $api', async ({ api, body }) => {
    const { answer, held = 0 } = await send(api, body)
    expect(answer.status).toBe(200)
    expect(held).toBeLessThanOrEqual(21_000)
  })

  it.each(TOOLS)('refuses by %s %s that the provider runs', async (api, __, body) => {
    for (const options of [{}, { unseenTokens: 50_000 }]) {
      const { answer, held } = await send(api, body, options)
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain(
        'body.tools: may cost more than the tokens that are counted',
      )
      expect(held).toBeUndefined()
    }
    expect((await send(api, body, { allowFields: ['tools'] })).answer.status).toBe(200)
  })

  it('refuses a thread and a stored prompt that may be sent', async () => {
    const thread = { type: 'continue', previous_message_id: 'm' }
    const options = { allowFields: ['thread', 'prompt'] }
    for (const [api, body, field] of [
      ['anthropic-messages', { ...ofUser({ type: 'text', text: 'And?' }), thread }, 'thread'],
      ['openai-responses', { prompt: { id: 'pmpt_1', version: '2' } }, 'prompt'],
    ] as const) {
      expect((await send(api, body)).answer.status).toBe(400)
      const { answer } = await send(api, body, options)
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain(`body.${field}: names input`)
      const priced = await send(api, body, { ...options, unseenTokens: 50_000 })
      expect(priced.held).toBeGreaterThanOrEqual(50_000)
    }
  })
})

it('a picture counts as one, also if its type is missing', () => {
  const picture = { image_url: { url: 'https://a.test/b.png' } }
  for (const part of [
    picture,
    { type: 'text', text: 'x', ...picture },
    { type: 'x', ...picture },
  ]) {
    const { input } = estimateRequest({ model: 'gpt-4o', ...ofUser(part) })
    expect(input).toBeGreaterThanOrEqual(1_445)
  }
})

it('a body whose types are no texts is estimated', () => {
  const odd = { toString: 1, valueOf: 1 }
  const part = { type: odd, source: { type: odd }, file: { file_data: odd }, file_url: odd }
  expect(estimateRequest(ofUser(part)).input).toBeGreaterThan(20_000)
})
