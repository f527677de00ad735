import { createOpenAI } from '@ai-sdk/openai'
import {
  definePrices,
  limitedFetch,
  limitedModel,
  modelHandler,
  modelPolicies,
  usd,
  type AiSdkModel,
  type Prices,
} from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import type { Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import OpenAI from 'openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { collectProblems, setUp } from '../../support/limiters.ts'
import { DAY, NOON } from '../../support/times.ts'
import { post, subject } from '../doors.ts'
import * as recorded from '../recordings.ts'

const url = 'https://provider.example/v1/chat/completions'
const messages = [{ role: 'user' as const, content: 'Why?' }]
const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }]
const price = { input: 1_000_000, output: 10_000_000 }
const fetch = async (): Promise<Response> => Response.json(recorded.CHAT_JSON)
const sdkModel = (model: string): AiSdkModel => createOpenAI({ apiKey: 'none', fetch }).chat(model)

/** Calls a model through a door. */
type Door = (limiter: Limiter, model: string, prices: Prices) => Promise<unknown>

const DOORS: Readonly<Record<string, Door>> = {
  modelHandler: async (limiter, model, prices) => {
    const handle = modelHandler(limiter, { subject, prices, api: 'openai-chat' }, fetch)
    return (await handle(post({ model, messages }))).text()
  },
  limitedFetch: async (limiter, model, prices) => {
    const send = limitedFetch(limiter, { subject, prices, fetch })
    return (await send(url, { method: 'POST', body: JSON.stringify({ model, messages }) })).text()
  },
  limitedModel: async (limiter, model, prices) =>
    limitedModel(sdkModel(model), limiter, { subject, prices }).doGenerate({ prompt }),
}

/** The doors that make a limiter of their own. Nobody listens to it, so its problems are logged. */
const OWN: Readonly<Record<string, (model: string, prices: Prices) => Promise<unknown>>> = {
  'withBudget of a client': async (model, prices) => {
    const client = new OpenAI({ apiKey: 'none', fetch })
    const budgeted = withBudget(client, { store: memory(), tenant: usd(1), prices })
    return budgeted('acme').chat.completions.create({ model, messages })
  },
  'withBudget of a model': async (model, prices) =>
    withBudget(sdkModel(model), { store: memory(), tenant: usd(1), prices })('acme').doGenerate({
      prompt,
    }),
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)
/** NOON is in the middle of this day. */
const inDays = (days: number): string => dayOf(NOON + days * DAY)
const pricesOf = (model: string, endsOn?: string): Prices =>
  definePrices({ [model]: { ...price, ...(endsOn && { endsOn }) } })

function setUpModels() {
  const { problems: heard, listener } = collectProblems()
  const policies = modelPolicies({ per: ['tenant'], rpm: 100, daily: usd(1) })
  return { ...setUp(policies, { extensions: [listener] }), heard }
}

describe.each(Object.entries(DOORS))('a call through %s of a model that ends', (door, call) => {
  it('reports it once a process, however many calls, limiters and spellings there are', async () => {
    const model = `gpt-ends-${door.toLowerCase()}`
    const prices = pricesOf(model, inDays(120))
    const [first, second] = [setUpModels(), setUpModels()]
    for (const name of [model, `openai/${model}`, `${model}-2026-01-02`]) {
      await call(first.limiter, name, prices)
      await call(second.limiter, name, prices)
    }
    const message = `The vendor of ${model} shuts it down on ${inDays(120)}: call another model`
    expect(first.heard).toEqual([{ code: 'model_ends', message }])
    expect(second.heard).toEqual([])
  })

  it('is silent until 120 days before the end, by the clock of the limiter', async () => {
    const model = `gpt-later-${door.toLowerCase()}`
    const prices = pricesOf(model, inDays(122))
    const { limiter, clock, heard } = setUpModels()
    await call(limiter, model, prices)
    expect(heard).toEqual([])
    clock.advance(2 * DAY)
    await call(limiter, model, prices)
    expect(heard.map(({ code }) => code)).toEqual(['model_ends'])
  })

  it('reports each model, also one that has ended, and none without an end', async () => {
    const { limiter, heard } = setUpModels()
    const [past, other, endless] = ['past', 'other', 'endless'].map((name) => `${name}-${door}`)
    await call(limiter, past ?? '', pricesOf(past ?? '', inDays(-1)))
    await call(limiter, other ?? '', pricesOf(other ?? '', inDays(1)))
    await call(limiter, endless ?? '', pricesOf(endless ?? ''))
    const names = heard.map(({ message }) => /of (\S+) shuts/.exec(message)?.[1])
    expect(names).toEqual([past?.toLowerCase(), other?.toLowerCase()])
  })
})

describe('a call through a door with a limiter of its own', () => {
  afterEach(() => void vi.restoreAllMocks())

  it.each(Object.entries(OWN))('logs the end of a model once, by %s', async (door, call) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    vi.spyOn(console, 'info').mockImplementation(() => {})
    const model = `gpt-own-${door.length}`
    for (let calls = 0; calls < 2; calls += 1) await call(model, pricesOf(model, inDays(0)))
    expect(log.mock.calls).toEqual([
      [`Sluice: The vendor of ${model} shuts it down on ${inDays(0)}: call another model`],
    ])
  })
})
