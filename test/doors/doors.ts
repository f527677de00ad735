/* The doors of `@sluice/ai` before the stand-in, and what they charge beside what it bills. */
import {
  boundInput,
  definePrices,
  limitedFetch,
  LIST_PRICES,
  meter,
  modelHandler,
  prepareModelCalls,
  type LimitedFetchOptions,
  type ModelApi,
  type ModelUnits,
} from '@sluice/ai'
import { createLimiter, dailyCap, manualClock, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { vi } from 'vitest'
import { NOON } from '../support/times.ts'
import { createProvider, type Provider, type ProviderOptions } from './provider.ts'

/** The stand-in's own prices of models that `LIST_PRICES` lacks. */
export const PRICES = definePrices(
  {
    'gpt-3.5-turbo-instruct': { input: 1_500_000, output: 2_000_000 },
    'text-embedding-3-small': { input: 20_000, output: 0 },
    'llama-3.3-70b-versatile': { input: 590_000, output: 790_000 },
    'mistral-large-latest': { input: 2_000_000, output: 6_000_000 },
    'deepseek-chat': { input: 270_000, cachedInput: 70_000, output: 1_100_000 },
    'grok-4': { input: 3_000_000, cachedInput: 750_000, output: 15_000_000 },
    'gemini-2.5-flash': { input: 300_000, cachedInput: 75_000, output: 2_500_000 },
    'command-a-03-2025': { input: 2_500_000, output: 10_000_000 },
    sonar: { input: 1_000_000, output: 1_000_000 },
    'kimi-k2': { input: 600_000, cachedInput: 150_000, output: 2_500_000 },
  },
  { base: LIST_PRICES },
)

/** How a provider behaves, and what must hold of what is charged then. */
export interface Terms {
  readonly provider: ProviderOptions
  /** True to bound the input instead of estimating it. */
  readonly bounded?: true
  /** True if the client goes away at the first bytes. */
  readonly hangsUp?: true
}

/** Where the usage is told, the charge is the bill; where it is not, the bound is never below it. */
export const TERMS: Readonly<Record<string, Terms>> = {
  'usage told': { provider: {} },
  'usage not told': { provider: { told: false }, bounded: true },
  'cut off': { provider: { told: false, cutAfter: 2 }, bounded: true },
  'hung up': { provider: { told: false }, bounded: true, hangsUp: true },
}

/** An address of a provider, and what it takes. */
export interface Address {
  readonly url: string
  readonly api: ModelApi
  readonly model: string
}

type Door = (
  limiter: Limiter,
  options: Omit<LimitedFetchOptions, 'onDenied'>,
  address: Address,
  provider: Provider,
) => (body: string) => Promise<Response>

const post = (body: string): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json' },
})

/** A handler's client asks at a path that says nothing. */
const asked = (body: string): Request => new Request('https://app.example/api/ai', post(body))
const subject = () => ({ tenant: 'acme' })
/** The units that `roomyLimiter` counts. */
const units = ({ usd, token }: ModelUnits) => ({ usd, token })

export const DOORS: Readonly<Record<string, Door>> = {
  'modelHandler with an address': (limiter, options, { url }, { fetch }) => {
    const handle = modelHandler(limiter, { ...options, subject }, { url, key: 'a' })
    return async (body) => {
      vi.stubGlobal('fetch', fetch)
      return handle(asked(body))
    }
  },
  'modelHandler with a function': (limiter, options, { url, api }, { fetch }) => {
    const handle = modelHandler(limiter, { ...options, subject, api }, ({ body, signal }) =>
      fetch(url, { ...post(body), signal }),
    )
    return async (body) => handle(asked(body))
  },
  limitedFetch: (limiter, options, { url }, { fetch }) => {
    const send = limitedFetch(limiter, { ...options, fetch })
    return async (body) => send(url, post(body))
  },
  'limitedFetch of a Request': (limiter, options, { url }, { fetch }) => {
    vi.stubGlobal('fetch', fetch)
    const send = limitedFetch(limiter, options)
    return async (body) => send(new Request(url, post(body)))
  },
  'prepareModelCalls behind an adapter': (limiter, options, { url, api }, { fetch }) => {
    const { prices, input, waitUntil } = options
    const prepare = prepareModelCalls({ api, ...(prices && { prices }), ...(input && { input }) })
    return async (body) => {
      const call = await prepare(asked(body))
      if (call.refusal) return call.refusal
      const held = await reserve(limiter, subject(), { cost: units(call.cost) })
      if (!held.allowed) return new Response(null, { status: 429 })
      return meter(await fetch(url, post(call.body)), {
        model: call.model,
        inputTokens: call.inputTokens,
        settle: async (usage) => void (await held.settle(units(call.unitsOf(usage)))),
        ...(waitUntil && { waitUntil }),
      })
    }
  },
}

const cap = (unit: string) => dailyCap({ name: unit, unit, limit: 10 ** 12, per: ['tenant'] })

/** A limiter of dollars and tokens that no call exceeds. */
export function roomyLimiter(): Limiter {
  return createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    policies: [cap('usd'), cap('token')],
  })
}

/** The whole charge of a limiter. */
export async function chargedBy(limiter: Limiter): Promise<{ usd: number; token: number }> {
  const { policies } = await limiter.peek({ tenant: 'acme' }, { cost: { usd: 0, token: 0 } })
  const of = (name: string): number => {
    const policy = policies.find((one) => one.name === name)
    return (policy?.limit ?? 0) - (policy?.remaining ?? 0)
  }
  return { usd: of('usd'), token: of('token') }
}

/**
 * The end of a call: sent and charged right, refused before it was sent, turned away by the provider
 * without a bill and a charge, or what is wrong.
 */
export type Outcome = 'sent' | 'refused' | (string & {})

/** A limiter with room for every call, the options of a door to it, and a promise of all that the door does later. */
export function roomyDoor(bounded = false) {
  const background: Promise<unknown>[] = []
  const options = {
    subject: { tenant: 'acme' },
    prices: PRICES,
    waitUntil: (promise: Promise<unknown>) => void background.push(promise),
    ...(bounded && { input: boundInput }),
  }
  const settled = async (): Promise<void> => {
    while (background.length > 0) await background.shift()
  }
  return { limiter: roomyLimiter(), options, settled }
}

/** Sends a body through a door, and compares what is charged with what is billed. */
export async function judge(
  door: Door,
  address: Address,
  body: string,
  { provider: behaviour, bounded, hangsUp }: Terms,
): Promise<Outcome> {
  const provider = createProvider(behaviour)
  const { limiter, options, settled } = roomyDoor(bounded)
  const answer = await door(limiter, options, address, provider)(body)
  if (hangsUp) {
    const reader = answer.body?.getReader()
    await reader?.read()
    await reader?.cancel()
  } else await answer.text().catch(() => '')
  await settled()
  return verdict(answer.status, provider, await chargedBy(limiter), behaviour.told !== false)
}

/** Compares what was charged with what was billed. */
export function verdict(
  status: number,
  { requests, bills }: Provider,
  charged: { readonly usd: number; readonly token: number },
  told: boolean,
): Outcome {
  const usd = bills.reduce((sum, bill) => sum + bill.microDollars, 0)
  const token = bills.reduce((sum, { input, output }) => sum + input + output, 0)
  const figures = `status ${status}: charged ${charged.usd} and ${charged.token} tokens, billed ${usd} and ${token}`
  if (requests.length === 0) {
    const isRefused = status === 400 && charged.usd === 0 && charged.token === 0
    return isRefused ? 'refused' : `not sent, ${figures}`
  }
  if (requests.length > 1) return `sent ${requests.length} times`
  if (bills.length === 0) return charged.usd === 0 ? 'turned away' : `billed nothing, ${figures}`
  if (charged.usd < usd || charged.token < token) return `too little, ${figures}`
  // A cost that is told in dollars may be rounded up once more.
  if (told && (charged.usd > usd + 1 || charged.token > token)) return `too much, ${figures}`
  return 'sent'
}
