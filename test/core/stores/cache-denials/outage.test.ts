import { fixedWindow, listen, type Degraded, type Store } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { spend } from '../../../support/decisions.ts'
import { ACME, collectProblems, setUp } from '../../../support/limiters.ts'
import { Watched } from '../../../support/watched-store.ts'
import { exhaust, setUpCache } from './support.ts'

const hourly = fixedWindow({ name: 'hourly', limit: 2, window: '1h', per: ['tenant'] })
const hundred = fixedWindow({ name: 'hundred', limit: 100, window: '1h', per: ['tenant'] })
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

  it('these denials say that they are degraded, and events and a problem are emitted', async () => {
    const degradations: Degraded[] = []
    const { listener, problems } = collectProblems()
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
    const means = 'Meanwhile cacheDenials denies what the store has denied'
    expect(problems).toMatchObject([
      { code: 'store_unreachable', message: expect.stringContaining(means) },
    ])
  })

  it('a failure that is no StoreError is reported with its error', async () => {
    const { listener, problems } = collectProblems()
    const { limiter, clock, store } = setUpCache([hourly], {}, { extensions: [listener] })
    await exhaust(limiter)
    clock.advance(5_000)
    const error = new TypeError('a bug')
    store.check = () => Promise.reject(error)
    const degraded = { cause: 'store_failed' }
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, degraded })
    expect(problems).toMatchObject([{ code: 'store_failed', error }])
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

  it('a denied tenant gets what was left, and no more: the local counts do not begin anew', async () => {
    const { limiter, clock, store } = setUpCache([hundred])
    await limiter.check(ACME, { cost: 97 })
    const { retryAfterMs } = await exhaust(limiter, ACME, { request: 10 })
    store.isDown = true
    clock.advance(5_000)
    expect(await limiter.check(ACME, { cost: 4 })).toMatchObject({ allowed: false })
    for (let time = 0; time < 3; time += 1) await spend(limiter, 1)
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      source: 'cache',
      retryAfterMs: (retryAfterMs ?? 0) - 5_000,
    })
    clock.advance((retryAfterMs ?? 0) - 5_000)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })

  it('a cost that never fits denies smaller ones until the reset, and not for ever', async () => {
    const { limiter, store } = setUpCache([hundred])
    await limiter.check(ACME, { cost: 100 })
    const denial = await exhaust(limiter, ACME, { request: 101 })
    expect(denial.retryAfterMs).toBe(null)
    store.isDown = true
    expect(await limiter.check(ACME, { cost: 101 })).toMatchObject({ retryAfterMs: null })
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      retryAfterMs: denial.policies[0]?.resetMs,
    })
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

it.each([
  ['without cacheDenials', 80, (store: Store) => store],
  ['with cacheDenials', 0, (store: Store) => cacheDenials(store)],
])(
  'a flood that brings the store down, %s, lets %d more requests pass than a limit of 20 in four processes',
  async (_, more, wrap) => {
    const store = new Watched(memory())
    const minute = fixedWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })
    const processes = Array.from(
      { length: 4 },
      () => setUp([minute], { store: wrap(store), onStoreError: 'local' }).limiter,
    )
    /** The requests that are allowed when each process is sent 50. */
    const flood = async (): Promise<number> => {
      let allowed = 0
      for (let sent = 0; sent < 50; sent += 1) {
        for (const limiter of processes) allowed += Number((await limiter.check(ACME)).allowed)
      }
      return allowed
    }
    expect(await flood()).toBe(20)
    store.isDown = true
    expect(await flood()).toBe(more)
  },
)
