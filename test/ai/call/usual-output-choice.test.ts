import { limitedFetch, LIST_PRICES, prepareModelCalls, type CallOptions } from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import { memory } from '@sluice/core/memory'
import OpenAI from 'openai'
import { describe, expect, it, vi } from 'vitest'
import {
  CELLS,
  FORMATS,
  limiterOf,
  messages,
  PRICES,
  provider,
  QUESTION,
  RATE,
  subject,
  USUAL,
} from './thinking-provider.ts'

describe.each(CELLS)(
  'a usual output that is chosen for each call: %s, %s',
  (_door, _format, call) => {
    const maximumWith = async (usualOutput: NonNullable<CallOptions['usualOutput']>) => {
      const { answers, fetch } = provider()
      // A quarter of it is less than a thousand tokens.
      await call(limiterOf(3_500 * RATE), { answers, fetch }, { usualOutput, minOutput: 100 })
      return answers[0]?.maximum
    }

    it('is that of its body, or the default', async () => {
      const bodies: object[] = []
      const chosen = await maximumWith((body) => {
        bodies.push(body)
        return JSON.stringify(body).includes(QUESTION) ? 1_000 : undefined
      })
      expect(chosen).toBe(1_000)
      expect(bodies).toHaveLength(1)
      expect(await maximumWith(() => undefined)).toBeGreaterThan(3_000)
    })

    it.each([0, -1, 0.5, Number.NaN, '1000'])('is not sent if it is %s', async (usual) => {
      const sent = maximumWith(() => usual as number)
      await expect(sent).rejects.toThrow('usualOutput: must be a whole number from 1')
    })
  },
)

const usualOutput = ({ user }: { readonly user?: unknown }) =>
  user === 'batch' ? 1_000 : undefined

it('a usual output that is chosen for each call holds for the client of a budget, and for a call that is prepared', async () => {
  vi.spyOn(console, 'info').mockImplementation(() => {})
  const { answers, fetch } = provider()
  const options = { store: memory(), tenant: 35_000, prices: PRICES, minOutput: 100, usualOutput }
  const openai = withBudget(new OpenAI({ apiKey: 'none', fetch }), options)('acme')
  await openai.chat.completions.create({ model: 'gpt-5', messages, user: 'batch' })
  expect(answers.map(({ maximum }) => maximum)).toEqual([1_000])

  const prepare = prepareModelCalls({ api: 'openai-chat', prices: PRICES, usualOutput })
  const [url, body] = FORMATS['OpenAI chat']
  for (const [user, usual] of [
    ['batch', 1_000],
    ['acme', USUAL],
  ]) {
    const init = { method: 'POST', body: JSON.stringify({ ...body, user }) }
    expect((await prepare(new Request(url, init))).cost.output_token).toBe(usual)
  }
})

it('the maximum is that of the listed model, and never above what it takes', async () => {
  const sent: Record<string, number> = {}
  const models = [
    'gpt-3.5-turbo',
    'gpt-4',
    'gpt-4o',
    'gpt-4.1',
    'o3',
    'gpt-5',
    'claude-opus-4-1',
    'claude-sonnet-4-5',
    'claude-opus-5',
  ]
  for (const model of models) {
    const { answers, fetch } = provider()
    const limited = limitedFetch(limiterOf(10 ** 12), { subject, prices: LIST_PRICES, fetch })
    const path = model.startsWith('claude') ? 'messages' : 'chat/completions'
    await limited(`https://api.example/v1/${path}`, {
      method: 'POST',
      body: JSON.stringify({ model, messages }),
    })
    sent[model] = answers[0]?.maximum ?? 0
  }
  expect(sent).toEqual({
    'gpt-3.5-turbo': 4_096,
    'gpt-4': 4_096,
    'gpt-4o': 16_384,
    'gpt-4.1': 32_000,
    o3: 64_000,
    'gpt-5': 64_000,
    'claude-opus-4-1': 32_000,
    'claude-sonnet-4-5': 64_000,
    'claude-opus-5': 64_000,
  })
})
