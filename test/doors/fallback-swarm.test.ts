/* A budget that falls through three models, with 200 agents at once. */
import { boundInput, limitedFetch, modelPolicies, priceOf, usd } from '@sluice/ai'
import { fallback, type Fallback } from '@sluice/ai/fallback'
import { createLimiter, listen, manualClock, type Extension, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { storesOf, type StoreName } from '../support/stores.ts'
import { NOON } from '../support/times.ts'
import { MAIN_STORES } from '../suites.ts'
import { PRICES } from './doors.ts'
import { createProvider } from './provider.ts'

const MODELS = ['gpt-5.4', 'gpt-4o', 'gpt-4o-mini']
const [FIRST = '', ...OTHERS] = MODELS
const MOST = 50
const AGENTS = 200
const STEPS = 8
const BODY = {
  model: FIRST,
  max_completion_tokens: MOST,
  messages: [{ role: 'user', content: 'Why is the sky blue?' }],
}

/** The most that a call may cost by each model: its bytes, all written to a cache, and its maximum. */
const worst = MODELS.map((model) => {
  const input = boundInput({ ...BODY, model }, JSON.stringify({ ...BODY, model }).length + 60)
  return priceOf({ input, cacheWrite: input, output: MOST }, model, PRICES)
})

const ADDRESS = 'https://api.openai.com/v1/chat/completions'
const subject = { tenant: 'acme' }

const limiterOf = (store: Store, daily: number, ...extensions: Extension[]) =>
  createLimiter({
    store,
    clock: manualClock(NOON),
    policies: modelPolicies({ per: ['tenant'], daily }),
    extensions,
  })

/** Returns the micro-dollars that a call reserves by each model. */
async function reservedBy(): Promise<number[]> {
  const costs: number[] = []
  const hearing = listen({
    reserved: ({ decision }) => void costs.push(decision.policies[0]?.cost ?? NaN),
  })
  const limiter = limiterOf(memory(), usd(1), hearing)
  const { fetch } = createProvider()
  const send = limitedFetch(limiter, { subject, prices: PRICES, input: boundInput, fetch })
  for (const model of MODELS) {
    const body = JSON.stringify({ ...BODY, model })
    await (await send(ADDRESS, { method: 'POST', body })).text()
  }
  return costs
}

describe.each(MAIN_STORES)('a budget in %s', (name) => {
  const stores = storesOf(name as StoreName)

  it('is never overspent by 200 agents at once, and none is denied while a model of the list has room', async () => {
    const provider = createProvider()
    const [first = 0, second = 0, third = 0] = await reservedBy()
    // A hundred calls of the first model, one of each other, and less than one more of the last.
    const budget = 100 * first + second + 2 * third - 1
    const limiter = limiterOf(stores(), budget)
    // No answer comes before each agent has its first decision, so that all are in flight at once.
    let undecided = AGENTS
    let begin: (() => void) | undefined
    const hasBegun = new Promise<void>((resolve) => (begin = resolve))
    const decided = (): void => {
      undecided -= 1
      if (undecided === 0) begin?.()
    }
    const told: Fallback[] = []
    const background: Promise<unknown>[] = []
    const send = limitedFetch(limiter, {
      subject,
      prices: PRICES,
      input: boundInput,
      fallbackModels: fallback(OTHERS, { onFallback: (one) => void told.push(one) }),
      async fetch(input, init) {
        decided()
        await hasBegun
        return provider.fetch(input, init)
      },
      onDenied() {
        decided()
        return undefined
      },
      waitUntil: (promise) => void background.push(promise),
    })
    const settled = async (): Promise<void> => {
      while (background.length > 0) await background.shift()
    }
    const statuses = new Map<number, number>()
    const agent = async (): Promise<void> => {
      for (let step = 0; step < STEPS; step += 1) {
        const answer = await send(ADDRESS, {
          method: 'POST',
          body: JSON.stringify(BODY),
        })
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        await answer.text()
      }
    }
    await Promise.all(Array.from({ length: AGENTS }, agent))
    await settled()

    const billed = provider.bills.reduce((sum, { microDollars }) => sum + microDollars, 0)
    const { policies } = await limiter.peek(subject, { cost: { usd: 0 } })
    const charged = budget - (policies[0]?.remaining ?? 0)
    expect(billed).toBeLessThanOrEqual(budget)
    expect(charged / billed).toBe(1)
    expect(provider.bills).toHaveLength(statuses.get(200) ?? 0)

    // Every model of the list has answered, and in the end the budget is spent.
    const calls = MODELS.map((one) => provider.bills.filter(({ model }) => model === one).length)
    expect(Math.min(...calls)).toBeGreaterThan(0)
    const denials = told.filter(({ used }) => used === undefined)
    expect(denials).toHaveLength(statuses.get(429) ?? 0)
    expect(denials.length).toBeGreaterThan(0)
    for (const { decision, used } of told) {
      // The budget that was left has no room for the worst of each model before the one that is used.
      const tried = decision.tried ?? []
      const passed = used === undefined ? MODELS : MODELS.slice(0, MODELS.indexOf(used))
      expect(tried.filter(({ allowed }) => !allowed)).toHaveLength(passed.length)
      for (const at of passed.keys()) {
        const { remaining = NaN } = tried[at]?.violated ?? {}
        expect(remaining).toBeLessThan(worst[at] as number)
      }
    }
  })
})
