/* The fields that vendors have beside those of OpenAI and Anthropic, at each door. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  limitedFetch,
  limitedModel,
  modelHandler,
  prepareModelCalls,
  type AiSdkModel,
  type ModelApi,
} from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import { memory } from '@sluice/core/memory'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { limiterOf, PRICES, subject } from '../doors.ts'
import { messages, PATHS, QUESTIONS, REFUSED, SENT, type Body } from './vendor-fields.ts'

interface Door {
  /** The body that a provider got, or none. */
  readonly sent: Body | undefined
  /** The text of the refusal. */
  readonly refused: string
}

const ANSWER = { id: 'a', choices: [], content: [], output: [], usage: {} }

/** Calls a door, and tells what was sent and what was answered. */
const DOORS: Readonly<Record<string, (api: ModelApi, body: Body) => Promise<Door>>> = {
  async modelHandler(api, body) {
    let sent: Body | undefined
    const handle = modelHandler(limiterOf(), { subject, prices: PRICES, api }, (call) => {
      sent = JSON.parse(call.body) as Body
      return Response.json(ANSWER)
    })
    const answer = await handle(requestOf(api, body))
    return { sent, refused: await textOf(answer) }
  },
  async limitedFetch(api, body) {
    const provider = recorder()
    const send = limitedFetch(limiterOf(), {
      subject: subject(),
      prices: PRICES,
      fetch: provider.fetch,
    })
    const answer = await send(requestOf(api, body))
    return { sent: provider.sent(), refused: await textOf(answer) }
  },
  async prepareModelCalls(api, body) {
    const call = await prepareModelCalls({ api, prices: PRICES })(requestOf(api, body))
    if (call.refusal) return { sent: undefined, refused: await textOf(call.refusal) }
    return { sent: JSON.parse(call.body) as Body, refused: '' }
  },
  async withBudget(api, body) {
    const provider = recorder()
    const inner = new OpenAI({
      apiKey: 'a',
      baseURL: 'https://api.example',
      maxRetries: 0,
      fetch: provider.fetch,
    })
    const options = { store: memory(), tenant: 1_000_000, prices: PRICES }
    const client = withBudget(inner, options)('acme')
    const call = client.post(PATHS[api] as string, { body })
    const [result] = await Promise.allSettled([call])
    const refused = result?.status === 'rejected' ? (result.reason as Error).message : ''
    return {
      sent: provider.sent(),
      refused,
    }
  },
}

const requestOf = (api: ModelApi, body: Body): Request =>
  new Request(`https://api.example${PATHS[api]}`, { method: 'POST', body: JSON.stringify(body) })

async function textOf(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as { error?: { message: string } }
  return error?.message ?? ''
}

function recorder() {
  let sent: Body | undefined
  return {
    sent: () => sent,
    fetch: async (_: unknown, init?: RequestInit): Promise<Response> => {
      sent = JSON.parse(init?.body as string) as Body
      return Response.json(ANSWER)
    },
  }
}

describe.each(Object.entries(DOORS))('%s', (_, call) => {
  it.each(SENT)('sends for %s by %s: %j', async (_vendor, api, fields) => {
    const { sent, refused } = await call(api, { ...QUESTIONS[api], ...fields })
    expect(refused).toBe('')
    expect(sent).toMatchObject(fields)
  })

  it.each(REFUSED)('refuses for %s by %s: %j', async (_vendor, api, fields, field, says) => {
    const { sent, refused } = await call(api, { ...QUESTIONS[api], ...fields })
    expect(refused).toContain(`body.${field}: ${says}`)
    expect(sent).toBeUndefined()
  })

  it.each(['openai-chat', 'anthropic-messages'] as const)(
    'leaves out the tier auto of %s, which a call without a tier has',
    async (api) => {
      const { sent } = await call(api, { ...QUESTIONS[api], service_tier: 'auto' })
      expect(sent?.['messages']).toEqual(messages)
      expect(sent).not.toHaveProperty('service_tier')
    },
  )
})

const inputOfItems = (fields: Body): boolean => 'tools' in fields || 'input' in fields
const optionsOf = ([vendor, , fields]: (typeof SENT)[number]) =>
  [vendor, camelCased(fields)] as const

async function generate(providerOptions: unknown): Promise<Body | undefined> {
  const provider = recorder()
  const name = 'vendor'
  const settings = { name, apiKey: 'a', baseURL: 'https://api.example/v1', fetch: provider.fetch }
  const inner = createOpenAICompatible(settings).chatModel('gpt-4o') as AiSdkModel
  const options = { subject: subject(), prices: PRICES }
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }]
  const call = { prompt, providerOptions: { [name]: providerOptions } }
  const model = limitedModel(inner, limiterOf(), options)
  const [result] = await Promise.allSettled([model.doGenerate(call)])
  // The answer is none of a model's.
  if (result?.status === 'rejected' && /Sluice/.test(String(result.reason))) throw result.reason
  return provider.sent()
}

describe('limitedModel', () => {
  it.each(SENT.filter(([, , fields]) => !inputOfItems(fields)).map(optionsOf))(
    'passes options of %s on: %j',
    async (_, options) => {
      expect(await generate(options)).toBeDefined()
    },
  )

  it.each(REFUSED.filter(([, , fields]) => !inputOfItems(fields)))(
    'refuses options of %s by %s: %j',
    async (_vendor, _api, fields, field) => {
      await expect(generate(camelCased(fields))).rejects.toThrow(
        new RegExp(`(providerOptions\\.vendor|body)\\.${camelCase(field)}|body\\.${field}`),
      )
    },
  )

  it('refuses the tier auto, which it cannot leave out, and says so', async () => {
    await expect(generate({ serviceTier: 'auto' })).rejects.toThrow(
      'limitedModel.providerOptions.vendor.serviceTier: may cost more than the tokens that are counted: leave it out',
    )
  })
})

const camelCase = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

const camelCased = (fields: Body): Body =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [camelCase(name), value]))

it("Anthropic's client is told in its own words that a thread is not continued", async () => {
  const send = limitedFetch(limiterOf(), {
    subject: subject(),
    prices: PRICES,
    fetch: recorder().fetch,
  })
  const thread = { type: 'continue', previous_message_id: 'msg_1' }
  const answer = await send(
    requestOf('anthropic-messages', { ...QUESTIONS['anthropic-messages'], thread }),
  )
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    error: { details: { error_code: 'thread_unsupported_request' } },
  })
})
