import { createLimiter, dailyCap, definePlans, manualClock, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { PLAN_TIERS } from '@sluice/core/plans'
import { describe, expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import { NOON } from '../../support/times.ts'

const page = readFileSync(new URL('../../../docs/plans.md', import.meta.url), 'utf8')

describe('the plan tiers', () => {
  const plans = definePlans({ ...PLAN_TIERS, growth: { rpm: 90, daily: 3_000 } })
  const limiter = createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    plans,
    policies: [
      slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per: ['tenant'] }),
      dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] }),
    ],
  })
  const limitsOf = async (plan: string): Promise<number[]> => {
    const { policies } = await limiter.peek({ tenant: plan, plan })
    return policies.map(({ limit }) => limit)
  }

  it('are 20, 60, 150 and 400 requests a minute, 500 to 30,000 a day, as the page says', () => {
    expect(PLAN_TIERS).toEqual({
      starter: { rpm: 20, daily: 500 },
      growth: { rpm: 60, daily: 2_000 },
      professional: { rpm: 150, daily: 8_000 },
      enterprise: { rpm: 400, daily: 30_000 },
    })
    const [, tiers = ''] = /`PLAN_TIERS` has requests a minute and a day:([^.]*)\./.exec(page) ?? []
    const published = Array.from(
      tiers.matchAll(/`(\w+)` ([\d,]+)\s+and ([\d,]+)(?:,|$)/g),
      ([, name, ...limits]) => {
        const [rpm, daily] = limits.map((text) => Number(text.replace(',', '')))
        return [name, { rpm, daily }] as const
      },
    )
    expect(Object.fromEntries(published)).toEqual(PLAN_TIERS)
  })

  it('limit a tenant by its plan, and may be replaced one by one', async () => {
    expect(await limitsOf('starter')).toEqual([20, 500])
    expect(await limitsOf('enterprise')).toEqual([400, 30_000])
    expect(await limitsOf('growth')).toEqual([90, 3_000])
  })
})
