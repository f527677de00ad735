import type { CallToSend } from '@sluice/ai'
import { StoreError, type Limiter, type Store } from '@sluice/core'
import { createApiKey } from '@sluice/core/api-keys'
import { memory } from '@sluice/core/memory'
import { usageOperations } from '@sluice/usage'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startNotes } from '../../apps/worker/src/call-notes.ts'
import { callSettings } from '../../apps/worker/src/call-settings.ts'
import { createCalls } from '../../apps/worker/src/calls.ts'
import { keyVerifier } from '../../apps/worker/src/keys.ts'
import { limiterFor, planOf, PLAN_NAMES } from '../../apps/worker/src/limits.ts'
import { ALIASES, PROVIDERS } from '../../apps/worker/src/providers.ts'
import { callHandler } from '../../apps/worker/src/providers/handlers.ts'
import { offersOf } from '../../apps/worker/src/providers/offers.ts'
import { usageAnswer } from '../../apps/worker/src/spend/usage-api.ts'
import { objectsInProcess, storeIn } from '../support/objects.ts'
import { MODELS as NAMED } from '../support/models.ts'

const DAY = Date.UTC(2026, 10, 24)
const DAY_MS = 86_400_000
const TENANTS = 100
const CALLS = 2_000
/** The share of all that is sent to the store and lost, half of it on the way there and half on the way back. */
const LOST = 0.02
/** Micro-dollars for a token of `NAMED.openai`: $2 and $10 a million. */
const BILLED = { input: 2, output: 10 }
const PLANS = ['starter', 'growth', 'professional', 'enterprise']

/** Returns numbers from 0 to 1, the same in each run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/** A store of which any request, or the reply to it, may get lost: look-ups of keys, decisions, settlements, usage. */
function lossy(inner: Store) {
  const state = { store: inner, lost: 0, isLosing: true }
  // Each kind has numbers of its own: usage is saved at any time between the others.
  const randoms = new Map<string, () => number>()
  async function pass<T>(kind: string, send: () => Promise<T>): Promise<T> {
    const random = randoms.get(kind) ?? seeded(kind.length)
    randoms.set(kind, random)
    const drawn = state.isLosing ? random() : 1
    if (drawn < LOST) state.lost += 1
    if (drawn < LOST / 2) throw new StoreError('store_unreachable', 'The request is lost')
    const reply = await send()
    if (drawn < LOST) throw new StoreError('store_unreachable', 'The reply is lost')
    return reply
  }
  state.store = {
    ...inner,
    check: (request) => pass(request.apply ? 'decision' : 'look', () => inner.check(request)),
    run: (operation) => pass(operation.kind.name, () => inner.run(operation)),
  }
  return state
}

interface Body {
  readonly stream?: boolean
  readonly max_completion_tokens: number
  readonly messages: readonly { readonly content: string }[]
}

/** A provider that tells the usage of each call, and adds up what it bills: by tenant and model. */
function provider(random: () => number) {
  const bill = new Map<string, number>()
  let calls = 0
  function answer({ body }: Pick<CallToSend, 'body'>, tenant: string): Response {
    const { stream, messages, max_completion_tokens: most } = JSON.parse(body) as Body
    // It bills nothing for an error.
    if (random() < 0.02) return Response.json({ error: { message: 'busy' } }, { status: 429 })
    calls += 1
    // No more than what the gateway has estimated: a budget shows no overrun.
    const input = messages[0]?.content.split(' ').length ?? 0
    const output = 1 + Math.floor(random() * most)
    const usd = input * BILLED.input + output * BILLED.output
    bill.set(tenant, (bill.get(tenant) ?? 0) + usd)
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
    }
    if (stream !== true) return Response.json({ model: NAMED.openai, choices: [], usage })
    const chunk = `data: ${JSON.stringify({ model: NAMED.openai, choices: [], usage })}`
    return new Response(`${chunk}\n\ndata: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    })
  }
  return { answer, bill, calls: () => calls }
}

const ENV: Record<string, string> = { OPENAI_API_KEY: 'sk-operator', LOG_CALLS: 'off' }

/** One isolate of the gateway: a limiter of its own, and the handler of an address. */
function isolate(store: Store, answer: ReturnType<typeof provider>['answer']) {
  const limiter = limiterFor(store)
  let tenant = ''
  const shared = createCalls(callSettings(ENV))
  const handle = callHandler(
    {
      limiter,
      offers: offersOf(ENV, PROVIDERS, ALIASES, PLAN_NAMES),
      api: 'openai-chat',
      planOf,
      findSubject: shared.subject(keyVerifier(limiter)),
      send: (to, call, request, notes) =>
        shared.send(to, call, request, notes, () => Promise.resolve(answer(call, tenant))),
    },
    (prices) => shared.options(prices),
  )
  return {
    limiter,
    async call(owner: Owner, stream: boolean, words: string): Promise<number> {
      tenant = owner.tenant
      const request = new Request('http://gateway.example/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.key}` },
        body: JSON.stringify({
          model: NAMED.openai,
          messages: [{ role: 'user', content: words }],
          max_completion_tokens: 2_000,
          ...(stream && { stream, stream_options: { include_usage: true } }),
        }),
      })
      const context = { waitUntil: () => {} }
      const notes = startNotes(request)
      const response = await shared.serve(notes, context, () => {
        if (!handle) throw new Error('No provider is on')
        return handle(request, notes, context)
      })
      await response.text()
      return response.status
    },
  }
}

interface Owner {
  readonly tenant: string
  readonly team: string
  readonly user: string
  readonly plan: string
  readonly key: string
  readonly id: string
}

/** Makes a key for each tenant, and a second one, of another team, for each third. */
async function makeKeys(limiter: Limiter): Promise<Owner[]> {
  const owners: Owner[] = []
  for (let at = 0; at < TENANTS; at += 1) {
    const plan = PLANS[at % PLANS.length] ?? ''
    for (const team of at % 3 === 0 ? ['search', 'support'] : ['search']) {
      const subject = { tenant: `tenant-${at}`, team, user: `u_${at}_${team}`, plan }
      const { key, id } = await createApiKey(limiter, subject)
      owners.push({ ...subject, key, id })
    }
  }
  return owners
}

/** The dollars that the budget of a day has counted, by tenant. */
async function ledgerOf(limiter: Limiter, owners: readonly Owner[]): Promise<Map<string, number>> {
  const ledger = new Map<string, number>()
  for (const { tenant, plan } of owners) {
    const subject = {
      tenant,
      plan,
      team: undefined,
      user: undefined,
      key: undefined,
      run: undefined,
    }
    const { policies } = await limiter.peek(subject, { cost: NOTHING })
    const daily = policies.find(({ name }) => name === 'budget.daily')
    const used = (daily?.limit ?? 0) - (daily?.remaining ?? 0)
    if (used > 0) ledger.set(tenant, used)
  }
  return ledger
}

const NOTHING = { request: 0, token: 0, usd: 0, call: 0 }

interface Row extends Readonly<Record<string, unknown>> {
  readonly tenant: string
  readonly requests: number
  readonly usd: number
}

interface Answer {
  readonly total: Row
  readonly rows: readonly Row[]
}

async function asked(limiter: Limiter, by: string): Promise<Answer> {
  const url = `http://gateway.example/admin/usage?by=${by}`
  return (await (await usageAnswer(new Request(url), limiter, {})).json()) as Answer
}

async function csv(limiter: Limiter, by: string): Promise<number> {
  const url = `http://gateway.example/admin/usage?by=${by}&format=csv`
  const lines = (await (await usageAnswer(new Request(url), limiter, {})).text()).split('\r\n')
  const at = lines[0]?.split(',').indexOf('usd') ?? -1
  return lines.slice(1, -1).reduce((sum, line) => sum + Number(line.split(',')[at]), 0)
}

const sum = (values: Iterable<number>): number => [...values].reduce((all, one) => all + one, 0)

/** Waits for a call, and for its pauses, in which a settlement is sent again. */
async function ended<T>(work: Promise<T>): Promise<T> {
  const state = { isOver: false }
  void work.finally(() => void (state.isOver = true))
  while (!state.isOver) {
    await new Promise((resolve) => void setImmediate(resolve))
    if (vi.getTimerCount() > 0) await vi.advanceTimersByTimeAsync(1)
  }
  return work
}

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  vi.spyOn(console, 'warn').mockImplementation(() => {})
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: DAY })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe.each<[string, () => Store]>([
  ['memory', () => memory()],
  ['Durable Objects', () => storeIn(objectsInProcess({ operations: usageOperations }).namespace)],
])('a day of 100 tenants over %s that loses 2 % of all requests and replies', (_, makeStore) => {
  it('is told alike by the page of usage, the budgets and the bill of the provider, to the micro-dollar', async () => {
    const random = seeded(52)
    const inner = makeStore()
    const owners = await makeKeys(limiterFor(inner))
    const { answer, bill, calls } = provider(seeded(7))
    const network = lossy(inner)
    const isolates = [isolate(network.store, answer), isolate(network.store, answer)] as const
    const statuses: Record<number, number> = {}
    for (let call = 0; call < CALLS; call += 1) {
      // The first keys send most.
      const owner = owners[Math.floor(random() ** 2 * owners.length)] as Owner
      const words = 'word '.repeat(Math.floor(random() * 900)) + 'word'
      const status = await ended(
        isolates[call % 2 === 0 ? 0 : 1].call(owner, random() < 0.5, words),
      )
      statuses[status] = (statuses[status] ?? 0) + 1
      await vi.advanceTimersByTimeAsync(DAY + ((call + 1) * (DAY_MS - 60_000)) / CALLS - Date.now())
    }
    network.isLosing = false
    await vi.advanceTimersByTimeAsync(15_000)

    // Something was lost, refused and denied, and each answered call is on the bill.
    expect(network.lost).toBeGreaterThan(100)
    expect(statuses[503]).toBeGreaterThan(30)
    expect(statuses[429]).toBeGreaterThan(50)
    expect(statuses[200]).toBe(calls())
    const reader = limiterFor(inner)
    const ledger = await ledgerOf(reader, owners)
    const usage = await asked(reader, 'tenant')
    expect(
      new Map(usage.rows.filter(({ usd }) => usd !== 0).map(({ tenant, usd }) => [tenant, usd])),
    ).toEqual(bill)
    expect(ledger).toEqual(bill)
    const total = sum(bill.values())
    for (const by of ['tenant', 'tenant,team', 'tenant,user', 'key', 'model', 'day', 'plan,hour']) {
      const { rows, total: all } = await asked(reader, by)
      expect([sum(rows.map(({ usd }) => usd)), all.usd, await csv(reader, by)]).toEqual([
        total,
        total,
        total,
      ])
    }
  })
})
