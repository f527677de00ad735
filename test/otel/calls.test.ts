/* Calls to the store, told apart from what a lease or a cached denial answers. */
import { fixedWindow, slidingWindow, StoreError, type Policy, type Store } from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { placeLeases } from '@sluice/core/place-leases'
import { sharded } from '@sluice/core/sharded'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ACME } from '../support/limiters.ts'
import { setUpTelemetry, startSdk, type Sdk } from './support.ts'

let sdk: Sdk
beforeEach(() => {
  sdk = startSdk()
})
afterEach(() => sdk.stop())

/** A store that counts the checks that reach it, and fails while `isDown`. */
function counted(): { store: Store; state: { checks: number; isDown: boolean } } {
  const state = { checks: 0, isDown: false }
  const inner = memory()
  const check: Store['check'] = (request) => {
    state.checks += 1
    if (state.isDown) return Promise.reject(new StoreError('store_unreachable', 'down'))
    // As one in Redis answers.
    return inner.check(request).then((reply) => ({ ...reply, source: 'store' }))
  }
  return { store: { ...inner, check }, state }
}

const rpm = slidingWindow({ name: 'rpm', limit: 1_000, window: '1m', per: ['tenant'] })
const low = fixedWindow({ name: 'low', limit: 2, window: '1m', per: ['tenant'] })
const leasedRpm = lease(rpm, { duration: '10s' })
const everyone = lease(slidingWindow({ name: 'all', limit: 1_000, window: '1m', per: 'global' }), {
  duration: '10s',
})

interface Wrapping {
  readonly name: string
  readonly wrap: (store: Store) => Store
  readonly policies: readonly Policy[]
  /** Decisions without a call are told apart by this. */
  readonly source: string | undefined
}

const WRAPPINGS: readonly Wrapping[] = [
  { name: 'a store', wrap: (store) => store, policies: [rpm], source: undefined },
  { name: 'breaker', wrap: (store) => breaker(store), policies: [rpm], source: undefined },
  { name: 'cacheDenials', wrap: (store) => cacheDenials(store), policies: [low], source: 'cache' },
  {
    name: 'leased',
    wrap: (store) => leased(store, { fetchAhead: false }),
    policies: [leasedRpm],
    source: 'lease',
  },
  {
    name: 'leased over cacheDenials',
    wrap: (store) => leased(cacheDenials(store), { fetchAhead: false }),
    policies: [leasedRpm, low],
    source: 'cache',
  },
]

const countOf = (points: readonly { readonly value: unknown }[]): number =>
  points.reduce((sum, { value }) => sum + (value as { readonly count: number }).count, 0)

describe('the durations of a store', () => {
  it.each(WRAPPINGS)(
    'of $name have as many calls as reach it, and its decisions say which made none',
    async ({ wrap, policies, source }) => {
      const { store, state } = counted()
      const { limiter } = setUpTelemetry(sdk, policies, { store: wrap(store) })
      for (let count = 0; count < 50; count += 1) await limiter.check(ACME)
      expect(countOf(await sdk.points('rate_limiter.store.duration'))).toBe(state.checks)
      const told: Record<string, number> = {}
      for (const { attributes, value } of await sdk.points('rate_limiter.decisions')) {
        const name = String(attributes['rate_limiter.source'])
        told[name] = (told[name] ?? 0) + (value as number)
      }
      const local = 50 - state.checks
      expect(told).toEqual({ undefined: state.checks, ...(source && { [source]: local }) })
      expect(local > 25).toBe(source !== undefined)
    },
  )

  it('of cacheDenials count a call that fails, though it denies by what it knows', async () => {
    const { store, state } = counted()
    const wrapped = cacheDenials(store, { maxAgeMs: 1_000 })
    const { limiter, clock } = setUpTelemetry(sdk, [low], { store: wrapped })
    for (let count = 0; count < 3; count += 1) await limiter.check(ACME)
    state.isDown = true
    clock.advance(2_000)
    const { degraded } = await limiter.check(ACME)
    expect(degraded).toEqual({ cause: 'store_unreachable', mode: 'local' })
    const durations = await sdk.points('rate_limiter.store.duration')
    const failed = durations.filter(({ attributes }) => attributes['error.type'])
    expect(failed).toMatchObject([{ attributes: { 'error.type': 'store_unreachable' } }])
    expect(countOf(failed)).toBe(1)
  })
})

describe('a store of several', () => {
  it('says which one answers and which fails', async () => {
    const [eu, us] = [counted(), counted()]
    const store = sharded({ eu: eu.store, us: us.store })
    const { limiter } = setUpTelemetry(sdk, [rpm], { store })
    us.state.isDown = true
    for (let count = 0; count < 40; count += 1) await limiter.check({ tenant: `t${count}` })
    const durations = await sdk.points('rate_limiter.store.duration')
    const byPlace = Object.fromEntries(
      durations.map((point) => [
        [point.attributes['rate_limiter.place'], point.attributes['error.type']].join(' '),
        countOf([point]),
      ]),
    )
    expect(us.state.checks).toBeGreaterThan(0)
    expect(byPlace).toEqual({
      'eu ': eu.state.checks,
      'us store_unreachable': us.state.checks,
    })
  })

  it('counts the call to a place, though a lease has the rest of the decision', async () => {
    const [eu, us] = [counted(), counted()]
    const store = sharded({ eu: eu.store, us: us.store }, { leases: placeLeases })
    const { limiter } = setUpTelemetry(sdk, [rpm, everyone], { store })
    for (let count = 0; count < 20; count += 1) await limiter.check(ACME)
    expect(countOf(await sdk.points('rate_limiter.store.duration'))).toBe(20)
  })

  it('has one label for all objects of a dimension: its names are those of tenants', async () => {
    const inner = memory()
    const check: Store['check'] = async (request) => ({
      ...(await inner.check(request)),
      place: 'tenant=secret',
    })
    const { limiter } = setUpTelemetry(sdk, [rpm], { store: { ...inner, check } })
    await limiter.check(ACME)
    expect(await sdk.points('rate_limiter.store.duration')).toMatchObject([
      { attributes: { 'rate_limiter.place': 'tenant' } },
    ])
  })
})
