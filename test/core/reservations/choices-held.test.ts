import { concurrency, dailyCap } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { explain } from '@sluice/core/explain'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'

const LADDER = choices([
  { subject: { model: 'large' }, cost: { usd: 40_000 } },
  { subject: { model: 'small' }, cost: { usd: 2_000 } },
])

/** A budget of $0.05, of which a call in flight holds $0.02, and $0.001 are left. */
async function withCallInFlight() {
  const { limiter } = setUp([
    dailyCap({ name: 'budget.daily', unit: 'usd', limit: 50_000, per: ['tenant'] }),
    concurrency({ name: 'in-flight', limit: 5, per: ['tenant'] }),
  ])
  await limiter.check(ACME, { cost: { usd: 29_000, call: 0 } })
  const held = await reserve(limiter, ACME, { cost: { usd: 20_000 } })
  expect(held.allowed).toBe(true)
  return { limiter, held }
}

describe('a denial of choices while calls in flight hold units', () => {
  it('is about the choice that fits when one of them ends, in a second', async () => {
    const { limiter, held } = await withCallInFlight()
    const denied = await reserve(limiter, ACME, { choices: LADDER })
    expect(denied).toMatchObject({
      allowed: false,
      choice: 1,
      reason: 'concurrency_exceeded',
      retryAfterMs: 1_000,
      violated: { name: 'budget.daily', cost: 2_000 },
    })
    expect(denied.tried).toMatchObject([
      { subject: { model: 'large' }, reason: 'daily_quota_exceeded', retryAfterMs: 43_170_000 },
      { subject: { model: 'small' }, reason: 'concurrency_exceeded', retryAfterMs: 1_000 },
    ])
    if (held.allowed) await held.settle({ usd: 1_000 })
    expect(await reserve(limiter, ACME, { choices: LADDER })).toMatchObject({
      allowed: true,
      choice: 1,
    })
  })

  it('is explained so, too', async () => {
    const { limiter } = await withCallInFlight()
    const { decision, denials } = await explain(limiter, ACME, { choices: LADDER })
    expect(decision).toMatchObject({ choice: 1, retryAfterMs: 1_000 })
    expect(denials).toMatchObject([{ reason: 'concurrency_exceeded', cost: 2_000 }])
  })
})
