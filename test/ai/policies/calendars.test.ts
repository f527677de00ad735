import type { Limiter } from '@sluice/core'
import { budget, modelPolicies, usd } from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import { calendar } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'

const resets = calendar({ zone: 'Asia/Tokyo', on: { day: 15, hour: 6 } })
const per = ['tenant'] as const

/** The limiters of what makes dollar budgets. */
const BUDGETS: Readonly<Record<string, () => Limiter>> = {
  budget: () => setUp([budget({ daily: usd(5), monthly: usd(50), per, resets })]).limiter,
  modelPolicies: () =>
    setUp(modelPolicies({ daily: usd(5), monthly: usd(50), per, resets })).limiter,
  'withBudget by the month': () =>
    withBudget(new OpenAI({ apiKey: 'test' }), {
      store: memory(),
      tenant: usd(5),
      window: 'month',
      resets,
    }).limiter,
}

describe.each(Object.entries(BUDGETS))('%s with a calendar', (_, make) => {
  it('begins months on the billing day, and days at its hour', async () => {
    const { policies } = await make().peek({ tenant: 'acme' }, { cost: { usd: 1 } })
    expect(policies.length).toBeGreaterThan(0)
    for (const { name, resetsAt } of policies) {
      expect(resetsAt).toMatch(
        name.endsWith('monthly')
          ? /-15T06:00:00\+09:00\[Asia\/Tokyo\]$/
          : /T06:00:00\+09:00\[Asia\/Tokyo\]$/,
      )
    }
  })
})

it('a daily budget alone takes no day of the month', () => {
  expect(() => budget({ daily: usd(5), per, resets })).toThrow(
    /budget\.resets\.on\.day: unknown option; expected "hour"/,
  )
})
