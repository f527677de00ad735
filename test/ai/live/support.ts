import {
  createLimiter,
  manualClock,
  type Limiter,
  type ManualClock,
  type Problem,
  type Store,
} from '@sluice/core'
import { budget, definePrices, limitedFetch, usd, type FetchLike } from '@sluice/ai'
import { livePrices, type LivePrices, type LivePricesOptions } from '@sluice/ai/live-prices'
import { collectProblems } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'

/** A dollar per million tokens of input and ten of output. */
export const BASE = definePrices({ known: { input: 1_000_000, output: 10_000_000 } })
export const NEW_PRICE = { input: 2_000_000, output: 20_000_000 }
/** The usage of every answer: at `NEW_PRICE` it costs 20,000 micro-dollars and more. */
const USAGE = { prompt_tokens: 100, completion_tokens: 1_000, total_tokens: 1_100 }

/** Returns the cost of an answer at so many micro-dollars for a token of output, and a tenth for one of input. */
export const costAt = (output: number): number => 1_000 * output + (100 * output) / 10

/** An isolate of an app: a limiter, its prices, and calls to a provider that stands in. */
interface Isolate {
  readonly limiter: Limiter
  readonly prices: LivePrices
  /** Sends a call, and returns its status and text. */
  readonly call: (model?: string, tenant?: string) => Promise<{ status: number; text: string }>
  /** Returns the micro-dollars that a tenant was charged. */
  readonly charged: (tenant?: string) => Promise<number>
}

export interface App {
  readonly clock: ManualClock
  readonly problems: Problem[]
  readonly isolate: (options?: Partial<LivePricesOptions>, send?: FetchLike) => Isolate
}

/** An app over a store, of which each isolate has a limiter of its own. */
export function app(store: Store): App {
  const clock = manualClock(NOON)
  const { problems, listener } = collectProblems()
  return {
    clock,
    problems,
    isolate(options = {}, send = answer) {
      const prices = livePrices({ base: BASE, ...options })
      const limiter = createLimiter({
        store,
        clock,
        policies: [budget({ name: 'budget', daily: usd(1_000), per: ['tenant'] })],
        extensions: [prices, listener],
      })
      return {
        limiter,
        prices,
        async call(model = 'known', tenant = 'acme') {
          const work: Promise<unknown>[] = []
          const fetch = limitedFetch(limiter, {
            subject: { tenant },
            prices,
            fetch: send,
            waitUntil: (promise) => void work.push(promise),
          })
          const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Why?' }] })
          const url = 'https://llm.example/v1/chat/completions'
          const response = await fetch(url, { method: 'POST', body })
          const text = await response.text()
          // It is settled after its end.
          await Promise.all(work)
          return { status: response.status, text }
        },
        async charged(tenant = 'acme') {
          const { policies } = await limiter.peek({ tenant }, { cost: { usd: 0 } })
          return Math.max(...policies.map(({ limit, remaining }) => limit - remaining))
        },
      }
    },
  }
}

export const answer: FetchLike = async () =>
  Response.json({
    id: 'a',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'So.' }, finish_reason: 'stop' }],
    usage: USAGE,
  })

/** Returns a promise, and the function that fulfils it. */
export function gate(): [opened: Promise<void>, open: () => void] {
  const waiting: (() => void)[] = []
  const opened = new Promise<void>((resolve) => waiting.push(resolve))
  return [opened, () => waiting[0]?.()]
}

/** The address of a list of prices. */
export const URL_OF_FEED = 'https://prices.example/api.json'

/** The costs of a model, as models.dev writes them. */
export type Cost = Record<string, unknown>

/** The JSON of models.dev with these models of OpenAI. */
export const modelsDev = (models: Record<string, Cost>): string =>
  JSON.stringify({
    openai: {
      id: 'openai',
      models: Object.fromEntries(Object.entries(models).map(([id, cost]) => [id, { id, cost }])),
    },
    elsewhere: { id: 'elsewhere', models: { 'of-another': { cost: { input: 1, output: 1 } } } },
  })
