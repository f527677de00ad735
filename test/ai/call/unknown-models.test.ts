/* A model without a price, or outside the option `models`, is refused with its name and what to do, whatever the door. */
import { createOpenAI } from '@ai-sdk/openai'
import {
  limitedFetch,
  limitedModel,
  modelHandler,
  prepareModelCalls,
  type CallTerms,
} from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import { memory } from '@sluice/core/memory'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { limiterOf, post, PRICES, QUESTION, subject } from '../doors.ts'

const REMEDY =
  'has no price, or is not in the option models: add it by `sluice prices set` or definePrices, or set unknownModel'

type Terms = Pick<CallTerms, 'models'>

const apiKey = 'no-key-is-needed'
const send = async (): Promise<Response> => {
  throw new Error('sent')
}
const openai = new OpenAI({ apiKey, fetch: send, maxRetries: 0 })
const modelOf = (name: string) => createOpenAI({ apiKey, fetch: send }).chat(name)
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Why?' }] }]
const budget = { store: memory(), tenant: 1_000_000, prices: PRICES }

/** Returns the text of a refusal: of the answer, or of what is thrown. */
async function textOf(answer: Promise<unknown>): Promise<string> {
  const [result] = await Promise.allSettled([answer])
  if (result?.status === 'rejected') return (result.reason as Error).message
  const response = result?.value as Response
  expect(response.status).toBe(400)
  const { error } = (await response.json()) as { error: { code: string; message: string } }
  expect(error.code).toBe('unknown_model')
  return error.message
}

/** Asks each door for a model, and returns the text of the refusal. */
const DOORS: Readonly<Record<string, (model: string, terms: Terms) => Promise<unknown>>> = {
  modelHandler: (model, terms) =>
    modelHandler(
      limiterOf(),
      { subject, prices: PRICES, api: 'openai-chat', ...terms },
      send,
    )(post({ ...QUESTION, model })),
  limitedFetch: (model, terms) => {
    const options = { subject: subject(), prices: PRICES, fetch: send, ...terms }
    return limitedFetch(limiterOf(), options)(post({ ...QUESTION, model }))
  },
  limitedModel: async (model, terms) =>
    limitedModel(modelOf(model), limiterOf(), {
      subject: subject(),
      prices: PRICES,
      ...terms,
    }).doGenerate({ prompt }),
  prepareModelCalls: async (model, terms) => {
    const prepare = prepareModelCalls({ api: 'openai-chat', prices: PRICES, ...terms })
    return (await prepare(post({ ...QUESTION, model }))).refusal
  },
}

/** The doors that have no option `models`. */
const WITHOUT_MODELS: Readonly<Record<string, (model: string) => Promise<unknown>>> = {
  'withBudget of a client': async (model) =>
    withBudget(openai, budget)('acme').chat.completions.create({ ...QUESTION, model } as never),
  'withBudget of a model': async (model) =>
    withBudget(modelOf(model), budget)('acme').doGenerate({ prompt }),
}

describe.each(Object.entries({ ...DOORS, ...WITHOUT_MODELS }))('%s', (_, ask) => {
  it('names a model without a price, the option and the command', async () => {
    expect(await textOf(ask('gpt-99', {}))).toContain(`"gpt-99" ${REMEDY}`)
  })

  it('quotes the beginning of a long name, and no line break', async () => {
    const text = await textOf(ask(`\n${'a'.repeat(500)}`, {}))
    expect(text).toContain(`"\\n${'a'.repeat(61)} has no price`)
  })
})

it.each(Object.entries(DOORS))(
  '%s names a model outside the option models, the option and the command',
  async (_, ask) => {
    expect(await textOf(ask('gpt-4o', { models: ['gpt-5'] }))).toContain(`"gpt-4o" ${REMEDY}`)
  },
)
