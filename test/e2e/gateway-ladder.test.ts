/* An alias of the gateway that names several models: two providers, and objects, in workerd. */
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CHAT_USAGE } from '../ai/recordings.ts'
import { PATIENTLY } from '../support/patience.ts'
import { MODELS } from '../support/models.ts'
import { LARGE, LARGE_AT_AZURE } from './fixtures/gateway-lists.ts'
import {
  ADMIN,
  asAdmin,
  chat,
  clientsOf,
  failureOf,
  keysOf,
  OPERATED,
  startProvider,
  type GatewayProvider,
} from './support/gateway.ts'
import { settingsFor, startWithProviders } from './support/gateway-providers.ts'
import type { WorkerApp } from './support/workerd.ts'

const SMALL = MODELS.openaiSmall
const OFFERED = [LARGE, SMALL, LARGE_AT_AZURE, 'qwen3-8b'].join()

const lists = fileURLToPath(new URL('./fixtures/gateway-lists.ts', import.meta.url))

let provider: GatewayProvider
let gateway: WorkerApp
beforeAll(async () => {
  provider = await startProvider()
  const variables = {
    ...settingsFor(provider, ['openai', 'azure', 'vllm']),
    ...OPERATED,
    ...ADMIN,
    MODELS: OFFERED,
  }
  gateway = await startWithProviders(variables, undefined, lists)
})
afterAll(async () => {
  await gateway.stop()
  await provider[Symbol.asyncDispose]()
})
beforeEach(() => {
  provider.reset()
  provider.requests.length = 0
})

const ask = { ...chat, model: 'smart', max_completion_tokens: 8_192 }

/** The providers and models that were called, by the names that they have there. */
const called = () =>
  provider.requests.map(({ path, body }) => `${path.split('/')[1]} ${String(body['model'])}`)

/** Answers with a usage of so many output tokens. */
const answer = (output: number) =>
  Response.json({
    id: 'chat',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'So.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output },
  })

const failure = (status: number) =>
  Response.json({ error: { message: 'Not now.', type: 'server_error' } }, { status })

/** Has one provider refuse its calls. */
function refuseBy(id: string, status: number): void {
  const { respond } = provider
  provider.respond = (request) =>
    request.path.startsWith(`/${id}/`) ? failure(status) : respond(request)
}

const lines = () =>
  gateway.logs
    .filter((line) => line.startsWith('{"time"'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)

/** Returns the line of the latest call of a key, which comes once its answer has passed. */
const lineOf = (id: string) => () => lines().findLast(({ key }) => key === id)

const refusalOf = async (call: Promise<unknown>) =>
  (await failureOf(call)) as { readonly status: number; readonly headers: Headers }

async function caller(plan: string, run?: string) {
  const { key, id, tenant } = await keysOf(gateway).create(plan)
  const { openai } = clientsOf(gateway.url, key)
  const headers = run === undefined ? {} : { 'x-agent-run': run }
  const call = async () =>
    (await openai.chat.completions.create(ask, { headers }).withResponse()).response.headers.get(
      'x-sluice-model',
    )
  return { key, id, tenant, openai, call }
}

describe('a budget that is nearly spent', () => {
  it('falls through three models, while each call is answered, and tells the asked and the used', async () => {
    const { id, tenant, call } = await caller('professional', 'a-run')
    // A run has $5, and a call of the large model may cost $0.08.
    provider.respond = () => answer(495_000)
    expect(await call()).toBeNull()
    provider.respond = ({ body }) => answer(body['model'] === SMALL ? 48_000 : 10)
    await expect.poll(call, PATIENTLY).toBe(SMALL)
    await expect.poll(call, PATIENTLY).toBe('qwen3-8b')
    const used = called().filter((one, at, all) => one !== all[at - 1])
    expect(used).toEqual([`openai ${MODELS.openai}`, `openai ${SMALL}`, 'vllm Qwen/Qwen3-8B'])
    await expect.poll(lineOf(id), PATIENTLY).toMatchObject({
      asked: 'smart',
      model: 'qwen3-8b',
      provider: 'vllm',
      outcome: 'answered',
    })
    const models = async () => {
      const query = `tenant=${tenant}&by=model`
      const page = await fetch(`${gateway.url}/admin/usage?${query}`, { headers: asAdmin })
      const { rows } = (await page.json()) as { rows: { model: string; denied: number }[] }
      return rows.map(({ model, denied }) => `${model} ${denied}`).toSorted()
    }
    await expect.poll(models, PATIENTLY).toEqual([`${SMALL} 0`, `${LARGE} 0`, 'qwen3-8b 0'])
  })

  it('never calls a model that the plan of the key does not list', async () => {
    const { call } = await caller('starter', 'a-run')
    provider.respond = () => answer(20_000)
    expect(await call()).toBeNull()
    await expect.poll(call, PATIENTLY).toBe('qwen3-8b')
    expect(called()).not.toContain(`openai ${SMALL}`)
  })

  it('calls no other model in a plan whose alias names one', async () => {
    const { openai, call } = await caller('enterprise')
    expect(await call()).toBeNull()
    refuseBy('openai', 503)
    const error = await refusalOf(openai.chat.completions.create(ask))
    expect(error.status).toBe(503)
    expect(error.headers.get('x-should-retry')).toBeNull()
    expect(new Set(called())).toEqual(new Set([`openai ${MODELS.openai}`]))
  })
})

describe('a provider that refuses', () => {
  it.each([429, 500, 503])(
    'with %i: the next model answers, and is charged alone',
    async (status) => {
      const { id, call } = await caller('starter')
      refuseBy('openai', status)
      expect(await call()).toBe('qwen3-8b')
      expect(called()).toEqual([`openai ${MODELS.openai}`, 'vllm Qwen/Qwen3-8B'])
      const { prompt_tokens: input, completion_tokens: output } = CHAT_USAGE
      const usd = Math.ceil(input * 0.05 + output * 0.1)
      await expect.poll(lineOf(id), PATIENTLY).toMatchObject({
        asked: 'smart',
        model: 'qwen3-8b',
        provider: 'vllm',
        status: 200,
        outcome: 'answered',
        charged: { usd },
      })
    },
  )

  it('has its calls of a model taken over by another provider of the same model', async () => {
    const { openai } = await caller('starter')
    refuseBy('openai', 503)
    const body = { ...ask, model: 'sure' }
    const { response } = await openai.chat.completions.create(body).withResponse()
    expect(response.headers.get('x-sluice-model')).toBe(LARGE_AT_AZURE)
    expect(called()).toEqual([`openai ${MODELS.openai}`, 'azure my-deployment'])
    for (const { body: sent } of provider.requests) {
      expect(sent).toMatchObject({ max_completion_tokens: 8_192 })
      expect(sent).not.toHaveProperty('max_tokens')
    }
  })

  it('streams by the next model', async () => {
    const { openai } = await caller('professional')
    refuseBy('openai', 429)
    let text = ''
    for await (const chunk of await openai.chat.completions.create({ ...ask, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).not.toBe('')
    expect(called()).toEqual([`openai ${MODELS.openai}`, `openai ${SMALL}`, 'vllm Qwen/Qwen3-8B'])
  })

  it('is not asked twice by a client that repeats, once the list is at its end', async () => {
    const { key, id } = await caller('professional')
    provider.respond = () => failure(503)
    const openai = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 2 })
    const error = await refusalOf(openai.chat.completions.create(ask))
    expect(error.status).toBe(503)
    expect(error.headers.get('x-should-retry')).toBe('false')
    expect(called()).toHaveLength(3)
    await expect
      .poll(lineOf(id), PATIENTLY)
      .toMatchObject({ status: 503, outcome: 'error', charged: {} })
  })

  it('may have billed what something before it answers with 502, so that no other is called', async () => {
    const { openai } = await caller('professional')
    refuseBy('openai', 502)
    expect(await failureOf(openai.chat.completions.create(ask))).toMatchObject({ status: 502 })
    expect(called()).toHaveLength(1)
  })
})

it('a model that is called by its own name has no list', async () => {
  const { id, openai } = await caller('professional')
  refuseBy('openai', 503)
  const failed = openai.chat.completions.create({ ...ask, model: SMALL })
  const error = await refusalOf(failed)
  expect(error.status).toBe(503)
  expect(error.headers.get('x-should-retry')).toBeNull()
  expect(called()).toEqual([`openai ${SMALL}`])
  await expect.poll(lineOf(id), PATIENTLY).toMatchObject({ model: SMALL, outcome: 'error' })
  await expect.poll(lineOf(id), PATIENTLY).not.toHaveProperty('asked')
})
