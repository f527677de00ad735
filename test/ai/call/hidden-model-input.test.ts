import { limitedModel } from '@sluice/ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { limiterOf, PRICES, subject, used } from '../doors.ts'
import { MODEL_ANSWER } from '../recordings.ts'

/** Asks a limited model, and returns how many tokens were held meanwhile. */
async function heldByModel(prompt: unknown, options: object = {}, call: object = {}) {
  const limiter = limiterOf()
  let tokens = 0
  const inner = new MockLanguageModelV4({
    modelId: 'gpt-4o',
    doGenerate: async () => {
      tokens = await used(limiter, 'tpm')
      return MODEL_ANSWER as never
    },
  })
  const settings = { subject: subject(), prices: PRICES, maxOutput: 1, ...options }
  const model = limitedModel(inner, limiter, settings)
  await model.doGenerate({ prompt, ...call } as never)
  return tokens
}
const ofFile = (part: object) => [
  { role: 'user', content: [{ type: 'file', mediaType: 'application/pdf', ...part }] },
]
const AND = [{ role: 'user', content: [{ type: 'text', text: 'And?' }] }]
const ofResult = (value: object) => [
  {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'f', output: value }],
  },
]

describe('limitedModel', () => {
  const STORED: [string, unknown, object?][] = [
    ['a file by its address', ofFile({ data: new URL('https://a.test/b.pdf') })],
    [
      'a file by its address, AI SDK 7',
      ofFile({ data: { type: 'url', url: new URL('https://a') } }),
    ],
    ['a file by its id', ofFile({ data: 'file-abc' })],
    ['a file by its id, Anthropic', ofFile({ data: 'file_abc' })],
    ['a file by reference', ofFile({ data: { type: 'reference', reference: { openai: 'f' } } })],
    [
      'a file of a tool',
      ofResult({ type: 'content', value: [{ type: 'file-id', fileId: 'file-abc' }] }),
    ],
    [
      'a file of a tool by its address',
      ofResult({ type: 'content', value: [{ type: 'file-url', url: 'https://a.test/b.pdf' }] }),
    ],
    ['a sound', ofFile({ mediaType: 'audio/wav', data: 'AAAA' })],
    ['a film, AI SDK 7', ofFile({ mediaType: 'video/mp4', data: { type: 'data', data: 'AAAA' } })],
    [
      'a sound of a tool',
      ofResult({ type: 'content', value: [{ type: 'media', mediaType: 'audio/wav', data: 'AA' }] }),
    ],
    ['an earlier response', AND, { providerOptions: { openai: { previousResponseId: 'r' } } }],
    ['a conversation', AND, { providerOptions: { openai: { conversation: 'c' } } }],
  ]
  it.each(STORED)(
    'refuses %s, or takes it at the price of unseenTokens',
    async (_, prompt, call) => {
      await expect(heldByModel(prompt, {}, call)).rejects.toThrow(
        'names input that only the provider has',
      )
      const tokens = await heldByModel(prompt, { unseenTokens: 50_000 }, call)
      expect(tokens).toBeGreaterThanOrEqual(50_000)
      expect(tokens).toBeLessThan(50_100)
    },
  )

  const SENT: [string, unknown][] = [
    ['a file', ofFile({ data: new Uint8Array(9) })],
    ['a file in base64', ofFile({ data: 'AAAA' })],
    ['a file, AI SDK 7', ofFile({ data: { type: 'data', data: 'AAAA' } })],
    ['a text, AI SDK 7', ofFile({ data: { type: 'text', text: 'Because.' } })],
    ['a picture by its address', ofFile({ mediaType: 'image/png', data: new URL('https://a') })],
    ['a picture of any kind', ofFile({ mediaType: 'image/*', data: new URL('https://a') })],
    [
      'data of a tool',
      ofResult({ type: 'json', value: { id: 'x', file_url: 'https://a', tools: [] } }),
    ],
  ]
  it.each(SENT)('sends %s', async (_, prompt) => {
    expect(await heldByModel(prompt)).toBeLessThanOrEqual(21_000)
  })

  it('lets an agent go on after a tool has returned data', async () => {
    const body = { id: 'x', tools: [{ type: 'web_search' }] }
    expect(await heldByModel(ofResult({ type: 'json', value: body }))).toBeLessThan(100)
  })
})
