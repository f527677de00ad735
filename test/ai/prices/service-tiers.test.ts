import { createOpenAI } from '@ai-sdk/openai'
import { createAnthropic } from '@ai-sdk/anthropic'
import { limitedFetch, limitedModel, modelHandler } from '@sluice/ai'
import { generateText, streamText } from 'ai'
import * as ai5 from 'ai5'
import { createAnthropic as createAnthropic5 } from 'ai5-anthropic'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import * as ai6 from 'ai6'
import { createAnthropic as createAnthropic6 } from 'ai6-anthropic'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { limiterOf, post, subject, used } from '../doors.ts'
import * as recorded from '../recordings.ts'
import { LISTED, PRICES } from './tiered.ts'

afterEach(() => void vi.unstubAllGlobals())

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
