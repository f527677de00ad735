/* A budget that falls through three models, with 200 agents at once. */
import { boundInput, limitedFetch, modelPolicies, priceOf, usd } from '@sluice/ai'
import { fallback, type Fallback } from '@sluice/ai/fallback'
import { createLimiter, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { expect, it } from 'vitest'
import { NOON } from '../support/times.ts'
import { PRICES } from './doors.ts'
import { createProvider } from './provider.ts'

const MODELS = ['gpt-5.4', 'gpt-4o', 'gpt-4o-mini']
const [FIRST = '', ...OTHERS] = MODELS
const MOST = 50
const BUDGET = usd(0.2)
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

it('200 agents at once never overspend, and none is denied while a model of the list has room', async () => {
  const provider = createProvider()
  const limiter = createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    policies: modelPolicies({ per: ['tenant'], daily: BUDGET }),
  })
  const told: Fallback[] = []
  const background: Promise<unknown>[] = []
  const send = limitedFetch(limiter, {
    subject: { tenant: 'acme' },
    prices: PRICES,
    input: boundInput,
    fallbackModels: fallback(OTHERS, { onFallback: (one) => void told.push(one) }),
    fetch: provider.fetch,
    waitUntil: (promise) => void background.push(promise),
  })
  const settled = async (): Promise<void> => {
    while (background.length > 0) await background.shift()
  }
  const statuses = new Map<number, number>()
  const agent = async (): Promise<void> => {
    for (let step = 0; step < STEPS; step += 1) {
      const answer = await send('https://api.openai.com/v1/chat/completions', {
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
  const { policies } = await limiter.peek({ tenant: 'acme' }, { cost: { usd: 0 } })
  const charged = BUDGET - (policies[0]?.remaining ?? 0)
  expect(billed).toBeLessThanOrEqual(BUDGET)
  expect(charged / billed).toBe(1)
  expect(provider.bills).toHaveLength(statuses.get(200) ?? 0)

  // Every model of the list has answered, and in the end the budget is spent.
  const calls = MODELS.map((name) => provider.bills.filter(({ model }) => model === name).length)
  expect(Math.min(...calls)).toBeGreaterThan(0)
  const denials = told.filter(({ used }) => used === undefined)
  expect(denials).toHaveLength(statuses.get(429) ?? 0)
  expect(denials.length).toBeGreaterThan(0)
  for (const { decision, used } of told) {
    // What was left has no room for the worst of each model before the one that is used.
    const tried = decision.tried ?? []
    const passed = used === undefined ? MODELS : MODELS.slice(0, MODELS.indexOf(used))
    expect(tried.filter(({ allowed }) => !allowed)).toHaveLength(passed.length)
    for (const at of passed.keys()) {
      const { remaining = NaN } = tried[at]?.violated ?? {}
      expect(remaining).toBeLessThan(worst[at] as number)
    }
  }
})
