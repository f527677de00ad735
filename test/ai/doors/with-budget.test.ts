import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { budget, ModelCallDenied, usd, type Usage } from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import { createLimiter, type Store, type Subject } from '@sluice/core'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { generateText } from 'ai'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import { generateText as generateText5 } from 'ai5'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest'
import { ownFolders } from '../../core/file/support.ts'
import { createProvider, type Provider } from '../../doors/provider.ts'
import { objectsInProcess, storeIn } from '../../support/objects.ts'
import { NOON } from '../../support/times.ts'
import { PATIENTLY } from '../../support/patience.ts'

const folderOf = ownFolders()
const apiKey = 'no-key-is-needed'
const DAILY = usd(0.01)
const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }]

beforeEach(() => {
  // Midnight must not come while a test runs.
  vi.useFakeTimers({ toFake: ['Date'], now: NOON })
  vi.spyOn(console, 'info').mockImplementation(() => {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** The question to a client in a tenant's name. */
type Ask = (tenant: string) => PromiseLike<unknown>
interface Options {
  readonly store: Store
  readonly tenant: number
  readonly total?: number
  readonly waitUntil?: (promise: Promise<unknown>) => void
  readonly onUsage?: (usage: Usage, subject: Subject) => unknown
}

/** The clients, as programs hold them to a budget: each retries twice by itself. */
const CLIENTS: Readonly<Record<string, (provider: Provider, options: Options) => Ask>> = {
  openai({ fetch }, options) {
    const openai = withBudget(new OpenAI({ apiKey, fetch }), options)
    return (tenant) =>
      openai(tenant).chat.completions.create({ model: 'gpt-4o', max_tokens: 50, messages })
  },
  'openai, streamed': ({ fetch }, options) => {
    const openai = withBudget(new OpenAI({ apiKey, fetch }), options)
    return (tenant) =>
      openai(tenant)
        .chat.completions.stream({ model: 'gpt-4o', max_tokens: 50, messages })
        .finalChatCompletion()
  },
  '@anthropic-ai/sdk': ({ fetch }, options) => {
    const anthropic = withBudget(new Anthropic({ apiKey, fetch }), options)
    return (tenant) =>
      anthropic(tenant).messages.create({ model: 'claude-opus-4-6', max_tokens: 50, messages })
  },
  'ai 7': ({ fetch }, options) => {
    const model = withBudget(createOpenAI({ apiKey, fetch }).chat('gpt-4o'), options)
    return (tenant) => generateText({ model: model(tenant), prompt: 'Why?', maxOutputTokens: 50 })
  },
  'ai 5': ({ fetch }, options) => {
    const model = withBudget(createOpenAI5({ apiKey, fetch }).chat('gpt-4o'), options)
    return (tenant) => generateText5({ model: model(tenant), prompt: 'Why?', maxOutputTokens: 50 })
  },
}

const STORES = {
  memory: () => memory(),
  file: () => file(folderOf()),
  'durable objects': () => storeIn(objectsInProcess().namespace),
}

const billedBy = ({ bills }: Provider): number =>
  bills.reduce((sum, { microDollars }) => sum + microDollars, 0)

/** The spent part of a tenant's budget, as any limiter on the store sees it. */
async function spentBy(tenant: string, store: Store, daily = DAILY): Promise<number> {
  const policies = [budget({ name: 'tenant', daily, per: ['tenant'] })]
  const { policies: states } = await createLimiter({ store, policies }).peek(
    { tenant },
    { cost: { usd: 0 } },
  )
  return daily - (states[0]?.remaining ?? 0)
}

const CELLS = Object.keys(CLIENTS).flatMap((client) =>
  (Object.keys(STORES) as (keyof typeof STORES)[]).map((place) => ({ client, place })),
)

describe.each(CELLS)('$client over $place', ({ client, place }) => {
  const make = CLIENTS[client] as (typeof CLIENTS)[string]

  it('spends no more than the budget with 50 calls at once, and leaves other tenants theirs', async () => {
    const provider = createProvider()
    const store = STORES[place]()
    const ask = make(provider, { store, tenant: DAILY })
    const results = await Promise.allSettled(Array.from({ length: 50 }, async () => ask('acme')))
    const errors = results.flatMap((result) => ('reason' in result ? [result.reason as Error] : []))
    expect(errors.length).toBeGreaterThan(10)
    expect(errors.length).toBeLessThan(50)
    expect(errors.filter((error) => !isDenial(error))).toEqual([])
    // A denied call is not sent.
    expect(provider.requests.length).toBe(50 - errors.length)
    expect(billedBy(provider)).toBeLessThanOrEqual(DAILY)
    await vi.waitFor(
      async () => expect(await spentBy('acme', store)).toBe(billedBy(provider)),
      PATIENTLY,
    )
    const before = billedBy(provider)
    await ask('globex')
    const cost = billedBy(provider) - before
    expect(cost).toBeGreaterThan(0)
    await vi.waitFor(async () => expect(await spentBy('globex', store)).toBe(cost), PATIENTLY)
  })

  it('holds all tenants together to the total', async () => {
    const provider = createProvider()
    const ask = make(provider, { store: STORES[place](), tenant: DAILY, total: 2 * DAILY })
    const calls = Array.from({ length: 100 }, async (_, at) => ask(`t${at % 10}`))
    const results = await Promise.allSettled(calls)
    const denied = results.filter(({ status }) => status === 'rejected').length
    expect([denied > 10, denied < 100]).toEqual([true, true])
    expect(billedBy(provider)).toBeLessThanOrEqual(2 * DAILY)
  })
})

/** True for the error of a client for a call that a budget has denied, also after it has tried again. */
function isDenial(error: Error): boolean {
  const { status, lastError = error } = error as { status?: number; lastError?: unknown }
  return status === 429 || lastError instanceof ModelCallDenied
}

describe('withBudget', () => {
  const store = memory()

  it('returns what it was given', () => {
    const openai = withBudget(new OpenAI({ apiKey }), { store, tenant: DAILY })
    expectTypeOf(openai).toExtend<(tenant: string) => OpenAI>()
    expect(openai('acme')).toBeInstanceOf(OpenAI)
    const anthropic = withBudget(new Anthropic({ apiKey }), { store, tenant: DAILY })
    expectTypeOf(anthropic('acme')).toEqualTypeOf<Anthropic>()
    const model = createOpenAI({ apiKey }).chat('gpt-4o')
    expectTypeOf(withBudget(model, { store, tenant: DAILY })('acme')).toEqualTypeOf(model)
  })

  it('sends by the global fetch if the client has none of its own', async () => {
    const provider = createProvider()
    vi.stubGlobal('fetch', provider.fetch)
    const ask = withBudget(new OpenAI({ apiKey }), { store: memory(), tenant: DAILY })
    await ask('acme').responses.create({ model: 'gpt-4o', max_output_tokens: 50, input: 'Why?' })
    vi.unstubAllGlobals()
    expect(provider.bills).toHaveLength(1)
  })

  it.each(Object.keys(CLIENTS))('keeps a call alive until it is settled: %s', async (client) => {
    const provider = createProvider()
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => void kept.push(promise)
    const own = memory()
    await CLIENTS[client]?.(provider, { store: own, tenant: DAILY, waitUntil })('acme')
    expect(kept.length).toBeGreaterThan(0)
    await Promise.all(kept)
    expect(await spentBy('acme', own)).toBe(billedBy(provider))
  })

  it('counts a month', async () => {
    const provider = createProvider()
    const monthly = memory()
    const client = new OpenAI({ apiKey, fetch: provider.fetch })
    const openai = withBudget(client, { store: monthly, tenant: usd(1), window: 'month' })
    await openai('acme').chat.completions.create({ model: 'gpt-4o', max_tokens: 50, messages })
    const policies = [budget({ name: 'tenant', monthly: usd(1), per: ['tenant'] })]
    const limiter = createLimiter({ store: monthly, policies })
    await vi.waitFor(async () => {
      const { policies: states } = await limiter.peek({ tenant: 'acme' }, { cost: { usd: 0 } })
      expect(states[0]?.remaining).toBe(usd(1) - billedBy(provider))
    }, PATIENTLY)
  })

  it('refuses a model without a price, and sends nothing', async () => {
    const provider = createProvider()
    const client = new OpenAI({ apiKey, fetch: provider.fetch })
    const openai = withBudget(client, { store: memory(), tenant: DAILY })
    const call = openai('acme').chat.completions.create({ model: 'unheard-of', messages })
    await expect(call).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('"unheard-of" has no price'),
    })
    expect(provider.requests).toEqual([])
  })

  it.each([[''], [undefined], [5]])('needs a tenant, not %j', (tenant) => {
    const openai = withBudget(new OpenAI({ apiKey }), { store, tenant: DAILY })
    expect(() => openai(tenant as string)).toThrow(/must be a text that is not empty/)
  })

  it.each([
    [{ tenant: DAILY }, /withBudget\.store: must be a store, such as file\('\.sluice'\)/],
    [{ store }, /withBudget\.tenant: must be in micro-dollars, such as usd\(5\)/],
    [{ store, tenant: 5 }, /withBudget\.tenant: must be in micro-dollars, such as usd\(5\)/],
    [{ store, tenant: DAILY, total: '9' }, /withBudget\.total: must be in micro-dollars/],
    [{ store, tenant: DAILY, window: '1d' }, /withBudget\.window: must be "day" or "month"/],
    [{ store, tenant: DAILY, prices: {} }, /withBudget\.prices: must be made by definePrices/],
    [{ store, tenant: DAILY, waitUntil: 5 }, /withBudget\.waitUntil: must be a function/],
    [{ store, tenant: DAILY, limit: 5 }, /withBudget\.limit: unknown option/],
  ])('%# names the option at fault', (options, message) => {
    expect(() => withBudget(new OpenAI({ apiKey }), options as never)).toThrow(message)
  })

  it.each([[undefined], ['gpt-4o'], [{}]])('%j is no client', (client) => {
    const make = () => withBudget(client as never, { store, tenant: DAILY })
    expect(make).toThrow(
      /withBudget\.client: must be a client with withOptions, such as new OpenAI/,
    )
  })
})

describe('the options of every door', () => {
  it('bound the output, allow fields and unseen input, and price what is not listed', async () => {
    const bodies: unknown[] = []
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const fetch = async (_: unknown, init?: RequestInit) => {
      bodies.push(JSON.parse(init?.body as string))
      return Response.json({ object: 'chat.completion', model: 'gpt-none', choices: [], usage })
    }
    const openai = withBudget(new OpenAI({ apiKey, fetch }), {
      store: memory(),
      tenant: usd(1),
      unknownModel: { input: 1_000_000, output: 10_000_000 },
      maxOutput: 3_000,
      usualOutput: 2_000,
      minOutput: 100,
      allowFields: ['prediction'],
      unseenTokens: 1_000,
    })
    const image = { type: 'file' as const, file: { file_id: 'file-1' } }
    await openai('acme').chat.completions.create({
      model: 'gpt-none',
      messages: [{ role: 'user', content: [image] }],
      prediction: { type: 'content', content: 'Because' },
    })
    expect(bodies).toMatchObject([{ model: 'gpt-none', max_completion_tokens: 3_000 }])
  })

  it.each(Object.entries(CLIENTS))('tell of a cut answer of %s', async (_, ask) => {
    // The provider writes to the maximum.
    const provider = createProvider()
    const told: unknown[] = []
    const onUsage = ({ output, isCut }: Usage, { tenant }: Subject) =>
      told.push({ tenant, output, isCut })
    await ask(provider, { store: memory(), tenant: usd(1), onUsage })('acme')
    const cut = { tenant: 'acme', output: provider.bills[0]?.output, isCut: true }
    await vi.waitFor(() => expect(told).toEqual([cut]), PATIENTLY)
  })

  it('a tenant has left what it has not spent, and no more than all have', async () => {
    const provider = createProvider()
    const options = { store: memory(), tenant: DAILY, total: 1.5 * DAILY }
    const openai = withBudget(new OpenAI({ apiKey, fetch: provider.fetch }), options)
    expect(await openai.left('acme')).toBe(DAILY)
    await openai('acme').chat.completions.create({ model: 'gpt-4o', max_tokens: 50, messages })
    await vi.waitFor(
      async () => expect(await openai.left('acme')).toBe(DAILY - billedBy(provider)),
      PATIENTLY,
    )
    expect(await openai.left('globex')).toBe(DAILY)
    const { policies } = await openai.limiter.peek({ tenant: 'acme' }, { cost: { usd: 0 } })
    expect(policies.map(({ name }) => name)).toEqual(['tenant.daily', 'total.daily'])
    await expect(openai.left('')).rejects.toThrow('must be a text')
  })
})
