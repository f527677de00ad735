import {
  boundInput,
  definePrices,
  limitedFetch,
  modelHandler,
  modelPolicies,
  usd,
  type FetchLike,
} from '@sluice/ai'
import {
  concurrency,
  createLimiter,
  definePlans,
  listen,
  manualClock,
  slidingWindow,
  type Limiter,
  type Store,
  type Subject,
} from '@sluice/core'
import { fitRange, reserve } from '@sluice/core/reservations'
import { NOON } from '../../support/times.ts'
import type { Call, Tenant } from './calls.ts'
import { currentJourney, during, type Journey } from './journey.ts'
import { promptOf } from './prompts.ts'
import { answer, PRICE, TEMPLATE_TOKENS } from './provider.ts'

const MODEL = 'gpt-4o'
const URL_OF_CALLS = 'https://provider.example/v1/chat/completions'
const PRICES = definePrices({
  [MODEL]: {
    input: usd(PRICE.input),
    cachedInput: usd(PRICE.cachedInput),
    output: usd(PRICE.output),
  },
})

/** Micro-dollars a day: more than all calls of a tenant cost, and enough for some of them. */
export const BUDGETS = { roomy: usd(1_000), tight: usd(0.03) } as const

const PLENTY = 1_000_000_000
const per = ['tenant']

/** Calls that are made at the same time. */
const LANES = 48

/** A limiter of model calls in this store; its `reserved` decisions go into the books. */
export function limiterIn(store: Store): Limiter {
  const plans = definePlans({ roomy: { daily: BUDGETS.roomy }, tight: { daily: BUDGETS.tight } })
  return createLimiter({
    store,
    plans,
    // By default, a budget denies while the store fails. Here its faults are to be charged exactly.
    onStoreError: 'local',
    clock: manualClock(NOON),
    policies: [
      ...modelPolicies({ per, daily: ({ plan }) => plan.daily }),
      // Windows that outlast a long run.
      slidingWindow({ name: 'tokens', unit: 'token', limit: PLENTY, window: '1h', per }),
      concurrency({ name: 'calls', limit: 1_000, per, maxDuration: '1h' }),
    ],
    extensions: [
      listen({
        reserved: ({ decision }) => Object.assign(currentJourney() ?? {}, { decision }),
      }),
    ],
  })
}

function journey(): Journey {
  const current = currentJourney()
  if (current === undefined) throw new Error('No call is being made')
  return current
}

function subject(): Subject {
  const { name: tenant, plan } = journey().call.tenant
  return { tenant, plan }
}

/** Both doors, as a tenant of this kind has them. */
function doorsOf(limiter: Limiter, { fits, input }: Tenant): Record<Call['door'], FetchLike> {
  const options = {
    prices: PRICES,
    ...(input === 'bound' && { input: boundInput }),
    ...(fits && { minOutput: 64 }),
    onUsage: (usage: Journey['usage']) => void (journey().usage = usage!),
    onError: (error: unknown) => void journey().errors.push(error),
    waitUntil: (work: Promise<unknown>) => void journey().background.push(work),
  }
  const handle = modelHandler(
    limiter,
    { ...options, subject, api: 'openai-chat' },
    ({ body, signal }) => answer(journey(), body, signal),
  )
  return {
    modelHandler: (url, init) => handle(new Request(url, init)),
    limitedFetch: limitedFetch(limiter, {
      ...options,
      subject,
      fetch: (_, init) =>
        Promise.resolve(answer(journey(), init?.body as string, init?.signal as AbortSignal)),
    }),
  }
}

/** Makes sure that Redis has the scripts, so that each request to it is a decision or a settlement. */
async function loadScripts(limiter: Limiter): Promise<void> {
  const cost = { token: 1, usd: 1 }
  const fit = fitRange({ floor: 1, most: 2, rates: { token: 1 } })
  for (const options of [{ cost }, { cost, fit }]) {
    const made = await reserve(limiter, { tenant: 'first', plan: 'roomy' }, options)
    if (made.allowed) await made.settle({ token: 2 })
  }
}

/** Makes all calls, some of them at the same time, and returns their books. */
export async function makeCalls(limiter: Limiter, calls: readonly Call[]): Promise<Journey[]> {
  await loadScripts(limiter)
  const kinds = new Map<string, Record<Call['door'], FetchLike>>()
  const made: Journey[] = []
  const waiting = calls.values()
  async function work(): Promise<void> {
    for (const call of waiting) {
      const kind = `${call.tenant.fits} ${call.tenant.input}`
      const doors = kinds.get(kind) ?? doorsOf(limiter, call.tenant)
      kinds.set(kind, doors)
      made.push(await makeCall(call, doors[call.door]))
    }
  }
  await Promise.all(Array.from({ length: LANES }, work))
  return made
}

async function makeCall(call: Call, send: FetchLike): Promise<Journey> {
  const { text, tokens } = promptOf(call.text, call.input)
  const own: Journey = {
    call,
    promptTokens: tokens + TEMPLATE_TOKENS,
    requests: [],
    errors: [],
    background: [],
    client: new AbortController(),
  }
  const body = JSON.stringify({
    model: MODEL,
    messages: [{ role: 'user', content: text }],
    stream: call.isStream,
    ...(call.maxOutput !== undefined && { max_completion_tokens: call.maxOutput }),
  })
  await during(own, async () => {
    const { signal } = own.client
    const sent = send(URL_OF_CALLS, { method: 'POST', body, signal })
    const response = await sent.catch(() => undefined)
    if (response?.ok) await read(response, own)
    // Nobody waits for what a process that ended had still to do.
    if (call.fate !== 'crashed') await Promise.all(own.background)
  })
  return own
}

/** Reads an answer as its client does. */
async function read(response: Response, { call, client }: Journey): Promise<void> {
  if (call.fate === 'answered' || call.fate === 'silent') {
    await response.text()
    return
  }
  const reader = response.body!.getReader()
  if (call.isStream) for (let piece = 0; piece < 5; piece += 1) await reader.read()
  if (call.fate === 'crashed') return
  client.abort()
  await reader.cancel().catch(() => undefined)
}
