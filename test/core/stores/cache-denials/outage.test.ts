import { fixedWindow, listen, type Degraded } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { ACME, collectProblems } from '../../../support/limiters.ts'
import { exhaust, setUpCache } from './support.ts'

const hourly = fixedWindow({ name: 'hourly', limit: 2, window: '1h', per: ['tenant'] })
const byRoute = fixedWindow({ name: 'route', limit: 9, window: '1h', per: ['tenant', 'route'] })

describe('while the store fails', () => {
  it('a spent tenant stays spent until its retry time, also beyond maxAgeMs', async () => {
    const { limiter, clock, store } = setUpCache([hourly])
    const { retryAfterMs } = await exhaust(limiter)
    store.isDown = true
    clock.advance((retryAfterMs ?? 0) - 1)
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      reason: 'rate_limit_exceeded',
      retryAfterMs: 1,
      source: 'cache',
    })
    clock.advance(1)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })

  it('these denials say that they are degraded, and events are emitted', async () => {
    const degradations: Degraded[] = []
    const { listener } = collectProblems()
    const extensions = [
      listener,
      listen({ degraded: ({ degraded }) => degradations.push(degraded) }),
    ]
    const { limiter, clock, store } = setUpCache([hourly], {}, { extensions })
    await exhaust(limiter)
    store.isDown = true
    expect(await limiter.check(ACME)).toMatchObject({ degraded: undefined })
    clock.advance(5_000)
    const degraded = { cause: 'store_unreachable', mode: 'local' }
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, degraded })
    expect(degradations).toEqual([degraded])
  })

  it('a spent tenant is denied with partitions of which nothing is known', async () => {
    const { limiter, store } = setUpCache([hourly, byRoute])
    await exhaust(limiter, { ...ACME, route: 'a' })
    store.isDown = true
    const decision = await limiter.check({ ...ACME, route: 'b' })
    expect(decision).toMatchObject({ allowed: false, violated: { name: 'hourly' } })
    expect(decision.policies[1]).toMatchObject({ name: 'route', remaining: 9 })
  })

  it('a peek is denied too; onStoreError decides on smaller costs and all others', async () => {
    const { limiter, clock, store } = setUpCache([hourly], {}, { onStoreError: 'allow' })
    await limiter.check(ACME)
    await exhaust(limiter, ACME, { request: 2 })
    clock.advance(5_000)
    store.isDown = true
    expect(await limiter.peek(ACME, { cost: 2 })).toMatchObject({ allowed: false })
    expect(await limiter.check(ACME, { cost: 1 })).toMatchObject({ allowed: true })
    expect(await limiter.check({ tenant: 'other' })).toMatchObject({ allowed: true })
  })

  it('what the store has allowed since is not denied', async () => {
    const { limiter, elsewhere, clock, store } = setUpCache([hourly])
    await exhaust(limiter)
    await elsewhere.reset(ACME)
    clock.advance(5_000)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
    store.isDown = true
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })
})
