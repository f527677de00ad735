import { concurrency, dailyCap, slidingWindow, type Policy } from '@sluice/core'
import { tooManyRequests } from '@sluice/core/http'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { DAY, NOON } from '../../support/times.ts'
import { mustReserve } from './support.ts'

const budget = dailyCap({ name: 'budget', limit: 100, unit: 'usd', per: ['tenant'] })
const calls = concurrency({ name: 'calls', limit: 5, per: ['tenant'] })
const rpm = (limit: number): Policy =>
  slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })
const UNTIL_MIDNIGHT_MS = DAY - (NOON % DAY)

describe('a denial of a reservation', () => {
  it('asks to come back soon while calls in flight hold what is missing', async () => {
    const { limiter } = setUp([budget, calls])
    await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    const denied = await reserve(limiter, ACME, { cost: { usd: 30 } })
    expect(denied).toMatchObject({
      allowed: false,
      reason: 'concurrency_exceeded',
      violated: { name: 'budget', remaining: 20 },
      retryAfterMs: 1_000,
    })
    const { headers } = tooManyRequests(denied as never)
    expect(headers.get('Retry-After')).toBe('1')
    expect(headers.get('x-should-retry')).toBeNull()
    expect(headers.get('RateLimit')).toContain('"budget";r=20;t=1')
  })

  it('is for the day once the money is spent, and nothing is in flight', async () => {
    const { limiter } = setUp([budget, calls])
    const call = await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    await call.settle({ usd: 90 })
    expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject({
      reason: 'daily_quota_exceeded',
      retryAfterMs: UNTIL_MIDNIGHT_MS,
    })
  })

  it('waits for requests, which no call returns', async () => {
    const { limiter } = setUp([budget, calls, rpm(1)])
    await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject({
      reason: 'concurrency_exceeded',
      violated: { name: 'budget' },
      retryAfterMs: 60_000,
    })
    expect(await reserve(limiter, ACME, { cost: { usd: 1 } })).toMatchObject({
      reason: 'rate_limit_exceeded',
      violated: { name: 'rpm' },
      retryAfterMs: 60_000,
    })
  })

  it('stays for ever if the cost is above the limit', async () => {
    const { limiter } = setUp([budget, calls])
    await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    expect(await reserve(limiter, ACME, { cost: { usd: 101 } })).toMatchObject({
      reason: 'cost_exceeds_limit',
      retryAfterMs: null,
    })
  })

  it('is not explained without a policy that counts calls in flight', async () => {
    const { limiter } = setUp([budget])
    await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject({
      reason: 'daily_quota_exceeded',
      retryAfterMs: UNTIL_MIDNIGHT_MS,
    })
  })
})
