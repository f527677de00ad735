/* The requests and rows of a call in Durable Objects: the gateway in this process, over objects in workerd that count their rows. */
import { readFileSync } from 'node:fs'
import { createApiKey } from '@sluice/core/api-keys'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import type { GatewayObjects } from '../../apps/worker/src/env.ts'
import { limiterFor } from '../../apps/worker/src/limits.ts'
import { storeOf } from '../../apps/worker/src/store.ts'
import { tableOf } from '../support/markdown.ts'
import { MODELS as NAMED } from '../support/models.ts'
import { startWorkerdObjects, type WorkerdObjects } from '../support/workerd-objects.ts'
import { STORE_TIMEOUT_MS } from './support/target.ts'

interface Gateway {
  readonly default: { fetch(request: Request, env: object, ctx: object): Promise<Response> }
}

// Its types, and the class of its objects, are of workerd.
vi.mock('../../apps/worker/src/objects.ts', () => ({ Limits: undefined }))
vi.mock('@sluice/cloudflare/wait-until', () => ({ waitUntil: () => {} }))
vi.mock('../../apps/worker/src/providers.ts', async (original) => ({
  ...(await original<object>()),
  ALIASES: { list: [NAMED.openai, NAMED.openaiSmall] },
}))
const INDEX = new URL('../../apps/worker/src/index.ts', import.meta.url).href
const { default: worker } = (await import(INDEX)) as Gateway

const page = readFileSync(new URL('../../apps/worker/README.md', import.meta.url), 'utf8')
const published = tableOf(page, 'in Durable Objects')

/** The requests and rows on the page. */
const pageOf = (what: string): readonly unknown[] =>
  ['requests', 'rows written'].map((column) => published.get(what)?.[column])
/** Measured ones, as the page says them. */
const each = ([requests, rows]: readonly number[], times = 1): readonly string[] => [
  String((requests ?? NaN) / times),
  ((rows ?? NaN) / times).toFixed(2),
]

let objects: WorkerdObjects
beforeAll(async () => {
  objects = await startWorkerdObjects()
})
afterAll(() => objects[Symbol.asyncDispose]())
// An isolate then looks nothing up again by itself.
beforeEach(() => {
  vi.spyOn(console, 'log').mockImplementation(() => {})
  // And saves usage when the test says so.
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A gateway that has just started, for a tenant that nobody knows yet. @param secrets Those of its providers. */
function gateway(secrets: Readonly<Record<string, string>> = {}) {
  const tenant = `tenant=${crypto.randomUUID()}`
  const asked = new Map<string, number>()
  const answered = new Map<string, number>()
  const LIMITS: GatewayObjects = {
    idFromName: (name) => objects.namespace.idFromName(name),
    get: (id) => ({
      sluice: async (message) => {
        asked.set(String(id), (asked.get(String(id)) ?? 0) + 1)
        const answer = await objects.namespace.get(id).sluice(message)
        answered.set(String(id), (answered.get(String(id)) ?? 0) + 1)
        return answer
      },
      countedIn: async () => 'objects',
    }),
  }
  const env = { LIMITS, STORE_TIMEOUT_MS, ...secrets }
  const limiter = limiterFor(storeOf(env).store)
  const factsOf = async (name: string) => [asked.get(name) ?? 0, (await objects.facts(name)).rows]

  /** Measures the requests and rows of some work, by object. */
  async function measure(work: () => Promise<unknown>) {
    const names = [tenant, 'home']
    const before = await Promise.all(names.map(factsOf))
    await work()
    const after = await Promise.all(names.map(factsOf))
    const [own = [], home = []] = after.map((facts, at) =>
      facts.map((fact, part) => fact - (before[at]?.[part] ?? 0)),
    )
    return { own, home }
  }

  const createKey = async (plan: string): Promise<string> =>
    (await createApiKey(limiter, { tenant: tenant.replace('tenant=', ''), plan })).key

  /** Waits until an object has answered some more requests than before the work. */
  async function awaiting<T>(name: string, requests: number, work: () => Promise<T>): Promise<T> {
    const most = (answered.get(name) ?? 0) + requests
    const result = await work()
    while ((answered.get(name) ?? 0) < most) {
      await new Promise((resolve) => void setImmediate(resolve))
    }
    return result
  }

  /** Makes a call, and returns its status. It may be settled later. */
  async function send(
    key: string,
    content = 'Why?',
    model: string = NAMED.openaiSmall,
  ): Promise<number> {
    const body = {
      model,
      messages: [{ role: 'user', content }],
      max_completion_tokens: 1,
    }
    const headers = { 'x-api-key': key }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const request = new Request('http://localhost/v1/chat/completions', init)
    const ctx = { waitUntil: () => {} }
    const answer = await worker.fetch(request, env, ctx)
    await answer.text()
    return answer.status
  }

  /** Makes a call, and waits for its settlement. */
  const call = (key: string): Promise<number> => awaiting(tenant, 2, () => send(key))

  /** Has the isolate save its usage. */
  const saveUsage = (): Promise<unknown> =>
    awaiting('home', 1, () => vi.advanceTimersByTimeAsync(15_000))

  /** Makes calls, ten at a time. */
  async function callMany(key: string, times: number): Promise<Set<number>> {
    const statuses: number[] = []
    while (statuses.length < times) {
      const ten = () => Promise.all(Array.from({ length: 10 }, () => send(key)))
      statuses.push(...(await awaiting(tenant, 20, ten)))
    }
    return new Set(statuses)
  }

  return { measure, awaiting, tenant, createKey, send, call, callMany, saveUsage }
}

it('keys and calls are as many requests and rows as the README says', async () => {
  const { measure, createKey, call, callMany, saveUsage } = gateway()
  // The first rows of an object make its table.
  const key = await createKey('enterprise')
  const made = await measure(() => createKey('enterprise'))
  expect(each(made.home)).toEqual(pageOf('a new key'))

  const first = await measure(() => call(key))
  const used = await measure(async () => {
    vi.setSystemTime(Date.now() + 6_000)
    await call(key)
  })
  expect(each(used.home)).toEqual(pageOf('key and settings, once in 5 s for each key and isolate'))
  // It notes that the key is used.
  expect(first.home).toEqual(used.home.map((fact) => fact + 1))

  await callMany(key, 40)
  const calls = 300
  const { own, home } = await measure(() => callMany(key, calls))
  expect(each(own, calls)).toEqual(pageOf('a call and its settlement'))
  // An object that is not asked writes nothing. An idle object may end meanwhile, and its count of rows with it.
  expect(home[0]).toBe(0)
  const saved = await measure(saveUsage)
  expect(each(saved.home)).toEqual(pageOf('usage, once in 15 s for each isolate'))
})

it('a denied call writes nothing', async () => {
  const { measure, createKey, send } = gateway()
  const key = await createKey('starter')
  const { own } = await measure(async () => {
    // More tokens than the plan has in a minute.
    expect(await send(key, 'Why? '.repeat(50_000))).toBe(429)
  })
  expect(each(own)).toEqual(pageOf('a call that a limit denies'))
})

it('the free plan has as many calls a day as the README says', () => {
  const [, free = '', calls = ''] =
    /has ([\d,]+) requests and rows .* ([\d,]+) calls/.exec(page) ?? []
  const most = Math.max(...pageOf('a call and its settlement').map(Number))
  expect(Number(calls.replace(',', '')) * most).toBeLessThanOrEqual(Number(free.replace(',', '')))
  expect(Number(calls.replace(',', '')) * most).toBeGreaterThan(
    0.99 * Number(free.replace(',', '')),
  )
})

it('the next model of a list, after a refusal, is as many requests and rows as the README says', async () => {
  // The next call waits for as long as its limits ask for, if only for a turn.
  vi.useRealTimers()
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const { fetch } = globalThis
  const sent: string[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    // The objects are called by it, too.
    if (typeof url !== 'string' || !url.startsWith('https://api.openai.com/')) {
      return fetch(url, init)
    }
    const { model } = JSON.parse(init?.body as string) as { model: string }
    sent.push(model)
    return model === NAMED.openai
      ? Response.json({ error: {} }, { status: 503 })
      : Response.json({ choices: [], usage })
  })
  const { measure, awaiting, tenant, createKey, send } = gateway({ OPENAI_API_KEY: 'its-key' })
  const key = await createKey('enterprise')
  const call = (model: string, requests: number) =>
    measure(() =>
      awaiting(tenant, requests, async () => expect(await send(key, 'Why?', model)).toBe(200)),
    )
  await call('list', 4)
  const alone = await call(NAMED.openaiSmall, 2)
  const fallen = await call('list', 4)
  expect(sent).toHaveLength(5)
  const more = fallen.own.map((fact, part) => fact - (alone.own[part] ?? 0))
  expect(each(more)).toEqual(pageOf('the next model of a list, after a refusal'))
})
