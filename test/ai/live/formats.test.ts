import { calcPrice, findProvider } from '@pydantic/genai-prices'
import { memory } from '@sluice/core/memory'
import { definePrices, priceOf, type ModelPrice } from '@sluice/ai'
import { pullPrices, readPrices } from '@sluice/ai/live-prices'
import { describe, expect, it } from 'vitest'
import { app, BASE, modelsDev, URL_OF_FEED } from './support.ts'

/** A day on which the package of prices was there. */
const TODAY = Date.parse('2026-09-24T12:00Z')

function ratesOf(price: ModelPrice): object {
  const { asOf, source, ...rates } = price
  expect([typeof asOf, typeof source]).toEqual(['string', 'string'])
  return rates
}

const tier = (size: number, output: number) => ({
  input: 10,
  output,
  cache_read: 1,
  tier: { type: 'context', size },
})

const pulled = async (feed: unknown, vendors = ['openai', 'anthropic']) => {
  const used = app(memory())
  used.clock.advance(TODAY - used.clock())
  const { limiter } = used.isolate({ base: definePrices({}), vendors })
  await pullPrices(limiter, { text: JSON.stringify(feed), source: URL_OF_FEED })
  const list = await readPrices(limiter)
  return new Map(list.map(({ model, price }) => [model, ratesOf(price)]))
}

describe('a list of prices in the format of', () => {
  it.each(['openai', 'anthropic'])('genai-prices has the prices of %s', async (providerId) => {
    const found = await pulled([findProvider({ providerId })], [providerId])
    expect(found.size).toBeGreaterThan(15)
    const own = definePrices(Object.fromEntries(found) as Record<string, ModelPrice>)
    const timestamp = new Date(TODAY)
    const usages = [
      { input: 100_000, output: 1_000 },
      { input: 400_000, output: 1_000 },
    ]
    for (const { input, output } of usages) {
      const differing = [...found.keys()].filter((model) => {
        const counted = { input_tokens: input, output_tokens: output }
        const theirs = calcPrice(counted, model, { providerId, timestamp })?.total_price ?? 0
        const ours = priceOf({ input, output }, model, own)
        expect([model, ours >= theirs * 1e6 - 1e-6]).toEqual([model, true])
        return ours > theirs * 1e6 + 1
      })
      // A price that is announced for later applies today, if it is higher.
      expect(differing.length).toBeLessThan(found.size / 10)
    }
  })

  it('LiteLLM has costs by token, also of a long input, and of a vendor in front of the name', async () => {
    const found = await pulled({
      sample_spec: { litellm_provider: 'one of them', input_cost_per_token: 0 },
      'gpt-9': {
        litellm_provider: 'openai',
        mode: 'chat',
        input_cost_per_token: 1.25e-6,
        output_cost_per_token: 1e-5,
        cache_read_input_token_cost: 1.25e-7,
      },
      'anthropic/claude-9': {
        litellm_provider: 'anthropic',
        input_cost_per_token: 3e-6,
        output_cost_per_token: 15e-6,
        cache_creation_input_token_cost: 3.75e-6,
        cache_creation_input_token_cost_above_1hr: 6e-6,
        input_cost_per_token_above_200k_tokens: 6e-6,
        output_cost_per_token_above_200k_tokens: 2.25e-5,
        cache_creation_input_token_cost_above_200k_tokens: 7.5e-6,
      },
      'draw-9': {
        litellm_provider: 'openai',
        mode: 'image_generation',
        input_cost_per_token: 1,
        output_cost_per_token: 1,
      },
      'gpt-8': { litellm_provider: 'azure', input_cost_per_token: 1, output_cost_per_token: 1 },
    })
    expect([...found]).toEqual([
      ['gpt-9', { input: 1_250_000, output: 10_000_000, cachedInput: 125_000 }],
      [
        'claude-9',
        {
          input: 3_000_000,
          cacheWrite: 3_750_000,
          longCacheWrite: 6_000_000,
          output: 15_000_000,
          long: { above: 200_000, input: 6_000_000, cacheWrite: 7_500_000, output: 22_500_000 },
        },
      ],
    ])
  })

  it('models.dev has costs by million, and tiers of length', async () => {
    const found = await pulled(
      JSON.parse(
        modelsDev({
          tiered: {
            input: 5,
            output: 30,
            tiers: [tier(272_000, 45)],
            context_over_200k: { input: 10, output: 45 },
          },
          twice: { input: 5, output: 30, tiers: [tier(500_000, 90), tier(272_000, 45)] },
          older: { input: 5, output: 30, context_over_200k: { input: 10, output: 45 } },
        }),
      ),
      ['openai'],
    )
    const long = { input: 10_000_000, output: 45_000_000 }
    const usual = { input: 5_000_000, output: 30_000_000 }
    expect(Object.fromEntries(found)).toEqual({
      tiered: { ...usual, long: { above: 272_000, ...long, cachedInput: 1_000_000 } },
      twice: {
        ...usual,
        long: { above: 272_000, ...long, output: 90_000_000, cachedInput: 1_000_000 },
      },
      older: { ...usual, long: { above: 200_000, ...long } },
    })
  })

  it('another vendor is read by its name', async () => {
    const found = await pulled(
      { xai: { models: { 'grok-9': { cost: { input: 1, output: 2 } } } } },
      ['xai'],
    )
    expect([...found.keys()]).toEqual(['grok-9'])
    expect(BASE.models().has('grok-9')).toBe(false)
  })
})
