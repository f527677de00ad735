import { createOpenAI } from '@ai-sdk/openai'
import { createAnthropic } from '@ai-sdk/anthropic'
import {
  definePrices,
  limitedFetch,
  limitedModel,
  LIST_PRICES,
  modelHandler,
  priceOf,
  type ModelPrice,
  type Prices,
} from '@sluice/ai'
import { livePrices } from '@sluice/ai/live-prices'
import { LIST_TIERS, withTiers } from '@sluice/ai/tiers'
import { generateText, streamText } from 'ai'
import * as ai5 from 'ai5'
import { createAnthropic as createAnthropic5 } from 'ai5-anthropic'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import * as ai6 from 'ai6'
import { createAnthropic as createAnthropic6 } from 'ai6-anthropic'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { limiterOf, post, subject, used } from '../doors.ts'
import * as recorded from '../recordings.ts'

afterEach(() => void vi.unstubAllGlobals())

const MODELS = ['gpt-4o', 'gpt-5.6-terra', 'claude-opus-4-5']
const forAll = (price: ModelPrice): Record<string, ModelPrice> =>
  Object.fromEntries(MODELS.map((model) => [model, price]))

const LISTED = definePrices(forAll({ input: 1_000_000, output: 10_000_000 }))
const PRICES = withTiers(LISTED, {
  priority: forAll({ input: 2_000_000, output: 20_000_000 }),
  flex: forAll({ input: 500_000, output: 5_000_000 }),
  fast: forAll({ input: 6_000_000, output: 60_000_000 }),
})

/** How many times the listed price an answer in a tier costs: one without a price, as much as the dearest. */
const TIERS = { default: 1, standard: 1, on_demand: 1, priority: 2, flex: 0.5, fast: 6, turbo: 6 }
type Tier = keyof typeof TIERS

const sse = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } })

const inEvents = (text: string, member: string, tier: string): string =>
  text.replaceAll(member, `"service_tier":"${tier}",${member}`)

/** The paths of APIs whose answers name a tier, with answers to both ways of asking. */
const APIS = {
  'chat/completions': {
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Why?' }] },
    json: (tier: string) => ({ ...recorded.CHAT_JSON, service_tier: tier }),
    events: (tier: string) => inEvents(recorded.CHAT_SSE, '"choices"', tier),
  },
  responses: {
    body: { model: 'gpt-5.6-terra', input: 'Why?' },
    json: (tier: string) => ({
      ...recorded.RESPONSES_JSON,
      created_at: 1_780_000_000,
      service_tier: tier,
    }),
    events: (tier: string) =>
      recorded.responsesSse('completed', { created_at: 1_780_000_000, service_tier: tier }),
  },
  messages: {
    body: { model: 'claude-opus-4-5', messages: [{ role: 'user', content: 'Why?' }] },
    json: (tier: string) => ({
      ...recorded.MESSAGES_JSON,
      usage: { ...usageOf(recorded.MESSAGES_JSON), service_tier: tier },
    }),
    events: (tier: string) => inEvents(recorded.MESSAGES_SSE, '"input_tokens"', tier),
  },
}

const usageOf = (answer: object): object => (answer as { usage: object }).usage

/** Sends a body through a door to an address; `answer` is the provider. */
const DOORS = {
  modelHandler: (url: string, answer: typeof fetch, options: object) => {
    vi.stubGlobal('fetch', answer)
    const limiter = limiterOf()
    const handle = modelHandler(limiter, { subject, ...options } as never, { url, key: 'none' })
    return { limiter, call: (body: object) => handle(post(body)) }
  },
  limitedFetch: (url: string, answer: typeof fetch, options: object) => {
    const limiter = limiterOf()
    const send = limitedFetch(limiter, { subject: subject(), fetch: answer, ...options })
    const call = (body: object) => send(url, { method: 'POST', body: JSON.stringify(body) })
    return { limiter, call }
  },
}

const doors = Object.keys(DOORS) as (keyof typeof DOORS)[]
const paths = Object.keys(APIS) as (keyof typeof APIS)[]

describe.each(doors)('a service tier, through %s', (door) => {
  const cells = paths.flatMap((path) =>
    [true, false].flatMap((stream) =>
      (Object.keys(TIERS) as Tier[]).map((tier) => ({ path, stream, tier })),
    ),
  )

  it.each(cells)('of $path has the price of $tier, streamed: $stream', async (cell) => {
    const { path, stream, tier } = cell
    const { body, json, events } = APIS[path]
    const standard = await standardPrice(path, stream)
    const errors: unknown[] = []
    // A name of its own in each cell, because a tier is reported once.
    const named = tier === 'turbo' ? `turbo-${door}-${path}-${stream}` : tier
    const answer = async () => (stream ? sse(events(named)) : Response.json(json(named)))
    const onError = (error: unknown): void => void errors.push(error)
    const { limiter, call } = DOORS[door](`https://llm.example/v1/${path}`, answer, {
      prices: PRICES,
      onError,
    })
    const send = async () => (await call({ ...body, ...(stream && { stream }) })).text()

    await send()
    await expect.poll(() => used(limiter, 'budget.daily')).toBe(standard * TIERS[tier])
    await send()
    await expect.poll(() => used(limiter, 'budget.daily')).toBe(2 * standard * TIERS[tier])
    const texts = errors.map(String)
    expect(texts).toHaveLength(tier === 'turbo' ? 1 : 0)
    for (const text of texts) expect(text).toContain(`lack the service tier ${named}`)
  })

  async function standardPrice(path: keyof typeof APIS, stream: boolean): Promise<number> {
    const { body, json, events } = APIS[path]
    const answer = async () => (stream ? sse(events('default')) : Response.json(json('default')))
    const { limiter, call } = DOORS[door](`https://llm.example/v1/${path}`, answer, {
      prices: LISTED,
    })
    await (await call({ ...body, ...(stream && { stream }) })).text()
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    return used(limiter, 'budget.daily')
  }

  it('that a client may choose is reserved at its price, the dearest if it has none', async () => {
    for (const [tier, times] of Object.entries({ priority: 2, flex: 0.5, fast: 6, auto: 6 })) {
      let held = 0
      const { limiter, call } = DOORS[door](
        'https://api.openai.com/v1/chat/completions',
        async () => {
          held = await used(limiter, 'budget.daily')
          return Response.json(recorded.CHAT_JSON)
        },
        { prices: PRICES, allowFields: ['service_tier'], maxOutput: 10_000, usualOutput: 10_000 },
      )
      const { body } = APIS['chat/completions']
      await (await call({ ...body, service_tier: tier })).text()
      // Output alone: ten micro-dollars a token.
      expect(Math.round(held / 100_000 / times)).toBe(1)
    }
  })
})

const VERSIONS = {
  'ai 5': { ...ai5, openai: createOpenAI5, anthropic: createAnthropic5 },
  'ai 6': { ...ai6, openai: createOpenAI6, anthropic: createAnthropic6 },
  'ai 7': { generateText, streamText, openai: createOpenAI, anthropic: createAnthropic },
}

describe.each(Object.entries(VERSIONS))('a service tier, through limitedModel of %s', (_, sdk) => {
  const generated = sdk.generateText as (call: object) => Promise<unknown>
  const streamed = (call: object): Promise<void> =>
    (sdk.streamText as (call: object) => { consumeStream(): Promise<void> })(call).consumeStream()
  // Of chat completions, the SDK tells no tier.
  const models = {
    responses: (fetch: typeof globalThis.fetch) =>
      sdk.openai({ apiKey: 'none', fetch }).responses('gpt-5.6-terra'),
    messages: (fetch: typeof globalThis.fetch) =>
      sdk.anthropic({ apiKey: 'none', fetch })('claude-opus-4-5'),
  }
  const cells = (['responses', 'messages'] as const).flatMap((path) =>
    [true, false].map((stream) => ({ path, stream })),
  )

  it.each(cells)('of $path has the price of the tier, streamed: $stream', async (cell) => {
    const { path, stream } = cell
    const charged: number[] = []
    for (const tier of ['default', 'priority'] as const) {
      const limiter = limiterOf()
      const { json, events } = APIS[path]
      const answer = async () => (stream ? sse(events(tier)) : Response.json(json(tier)))
      const model = limitedModel(models[path](answer) as never, limiter, {
        subject: subject(),
        prices: PRICES,
      })
      // The recorded events lack members that the SDK wants; it goes on without them.
      const call = { model, prompt: 'Why?', maxRetries: 0, onError: () => undefined }
      await (stream ? streamed(call) : generated(call))
      await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
      charged.push(await used(limiter, 'budget.daily'))
    }
    expect(charged[0]).toBeGreaterThan(0)
    expect(charged[1]).toBe(2 * (charged[0] as number))
  })
})

describe('a table of prices with tiers', () => {
  const usage = { input: 1_000_000, output: 0 }

  it('prices each tier by its own list, and one that is not listed by the dearest', () => {
    expect(priceOf(usage, 'gpt-4o', PRICES)).toBe(1_000_000)
    expect(priceOf({ ...usage, tier: 'flex' }, 'gpt-4o', PRICES)).toBe(500_000)
    expect(priceOf({ ...usage, tier: 'turbo' }, 'gpt-4o', PRICES)).toBe(6_000_000)
    // A table without tiers has one price.
    expect(priceOf({ ...usage, tier: 'turbo' }, 'gpt-4o', LISTED)).toBe(1_000_000)
  })

  it('has the prices of a long input, and of the snapshots of a model', () => {
    const rate = { input: 2_000, output: 2_000 }
    const long = { above: 10, input: 9_000, output: 9_000 }
    const own = withTiers(LISTED, { priority: { 'gpt-4o': { ...rate, long } } })
    const priority = { ...usage, tier: 'priority' }
    expect(priceOf(priority, 'openai/gpt-4o-2024-08-06', own)).toBe(9_000)
    expect(priceOf({ ...priority, input: 10 }, 'gpt-4o', own)).toBe(1)
  })

  it.each([
    [
      'definePrices',
      (base: Prices) => definePrices({ own: { input: 3_000_000, output: 0 } }, { base }),
    ],
    ['livePrices', (base: Prices) => livePrices({ base })],
  ])('keeps its tiers below %s', (_, madeOf) => {
    const made = madeOf(PRICES)
    expect(priceOf({ ...usage, tier: 'priority' }, 'gpt-4o', made)).toBe(2_000_000)
    expect(priceOf({ ...usage, tier: 'turbo' }, 'gpt-4o', made)).toBe(6_000_000)
    expect([made.hasTier('priority', 'gpt-4o'), made.hasTier('turbo', 'gpt-4o')]).toEqual([
      true,
      false,
    ])
  })

  it('may be extended by another, and copied with another price of unknown models', () => {
    const both = withTiers(PRICES, { batch: { 'gpt-4o': { input: 250_000, output: 0 } } })
    expect(priceOf({ ...usage, tier: 'batch' }, 'gpt-4o', both)).toBe(250_000)
    expect(priceOf({ ...usage, tier: 'flex' }, 'gpt-4o', both)).toBe(500_000)
    const copy = { ...PRICES, unknownModel: { input: 7_000, output: 0 } }
    expect(priceOf({ ...usage, tier: 'priority' }, 'other', copy)).toBe(7_000)
    expect(() => priceOf({ ...usage, tier: 'priority' }, 'other', PRICES)).toThrow('has no price')
  })

  /** Dollars of a million tokens of input and of output: a short one, and one of 300,000 tokens of input. */
  const PAGES: Readonly<Record<string, readonly (readonly [string, number[], number[]?])[]>> = {
    'https://openai.com/api-fast-mode': [
      ['priority gpt-5.6-sol', [8, 40], [16, 60]],
      ['priority gpt-5.6-terra', [4, 24], [8, 36]],
      ['priority gpt-5.6-luna', [0.4, 2.4], [0.8, 3.6]],
      ['priority gpt-5.5', [12.5, 75]],
      ['fast gpt-5.4-mini', [1.5, 9]],
      ['priority gpt-5-codex', [2.5, 20]],
    ],
    // As of 2026-09-13.
    'https://developers.openai.com/api/docs/pricing': [
      ['fast gpt-6-astra', [20, 100], [40, 150]],
      ['flex gpt-6-astra', [5, 25], [10, 37.5]],
    ],
    'https://developers.openai.com/api/docs/models': [
      ['fast gpt-6-luna', [0.2, 1], [0.4, 1.5]],
      ['flex gpt-6-luna', [0.05, 0.25]],
      ['fast gpt-6.1-sol', [4, 20], [8, 30]],
      ['flex gpt-6.1-sol', [1, 5]],
      ['ultrafast gpt-6.1-sol', [12, 60]],
      ['fast gpt-6.1-terra', [2, 10]],
      ['flex gpt-6.1-terra', [0.5, 2.5]],
      ['fast gpt-6.2-sol', [4, 20]],
      ['ultrafast gpt-6.2-sol', [12, 60]],
    ],
  }
  const all = withTiers(LIST_PRICES, LIST_TIERS)
  const dollars = (model: string, tier: string, input: number): number[] => {
    const ofInput = priceOf({ input, output: 0, tier }, model, all)
    const ofBoth = priceOf({ input, output: 1_000_000, tier }, model, all)
    return [ofInput / input, (ofBoth - ofInput) / 1e6]
  }

  it.each(
    Object.entries(PAGES).flatMap(([page, rows]) =>
      rows.map(([name, ...lengths]) => ({ name, lengths, page })),
    ),
  )('lists $name as $page does', ({ name, lengths }) => {
    const [tier = '', model = ''] = name.split(' ')
    expect(all.hasTier(tier, model)).toBe(true)
    const charged = [100_000, 300_000].map((input) => dollars(model, tier, input))
    expect(charged.slice(0, lengths.length)).toEqual(lengths)
  })

  it('charges a listed model in a tier that lists others alone at the highest multiple of these', () => {
    const least = { priority: 2, fast: 2, ultrafast: 6, flex: 1 }
    const models = [...LIST_PRICES.models().keys()]
    for (const [tier, times] of Object.entries(least)) {
      const missing = models.filter((model) => !all.hasTier(tier, model))
      expect(missing).toContain('gpt-6.2-astra')
      for (const model of missing) {
        for (const input of [100_000, 300_000]) {
          const [standard, inTier] = ['default', tier].map((one) => dollars(model, one, input))
          inTier?.forEach((price, at) => {
            expect(price / times).toBeGreaterThanOrEqual((standard?.[at] ?? 0) - 1e-9)
          })
        }
      }
    }
    // Claude's fast mode is twice its list.
    expect(dollars('claude-opus-5-5', 'fast', 1_000)[1]).toBeGreaterThanOrEqual(40)
    expect(dollars('gpt-5.6-sol', 'ultrafast', 1_000)).toEqual([24, 120])
  })

  it('charges a tier that lists no model at the highest price of the model, and at its list at least', () => {
    expect(dollars('gpt-6.1-sol', 'turbo', 1_000)).toEqual([12, 60])
    expect(dollars('gpt-4o', 'turbo', 1_000)).toEqual([4.25, 17])
    expect(dollars('gpt-6.2-astra', 'turbo', 1_000)).toEqual([48, 240])
    const cheap = withTiers(LISTED, { flex: forAll({ input: 500_000, output: 5_000_000 }) })
    expect(priceOf({ ...usage, tier: 'turbo' }, 'gpt-4o', cheap)).toBe(1_000_000)
    // Without output, the input alone tells the dearest.
    const table = definePrices({ embed: { input: 20_000, output: 0 } })
    const embed = withTiers(table, { fast: { embed: { input: 40_000, output: 0 } } })
    expect(priceOf({ ...usage, tier: 'turbo' }, 'embed', embed)).toBe(40_000)
  })

  const priority = loosely((models: never) => withTiers(LISTED, { priority: models }))
  const price = { input: 1_000, output: 1_000 }
  mistakesAreNamed([
    ['no table', () => withTiers({ m: price } as never, {}), 'withTiers.prices'],
    ['no tiers', () => withTiers(LISTED, 'priority' as never), 'withTiers.tiers'],
    ['no models', () => priority('gpt-4o'), 'withTiers.tiers.priority'],
    ['no output', () => priority({ m: { input: 1_000 } }), 'withTiers.tiers.priority.m.output'],
    [
      'no known price',
      () => priority({ m: { ...price, cost: 1 } }),
      'withTiers.tiers.priority.m.cost',
      'unknown_option',
    ],
    [
      'a length below 0',
      () => priority({ m: { ...price, long: { ...price, above: -1 } } }),
      'withTiers.tiers.priority.m.long.above',
    ],
  ])
})
