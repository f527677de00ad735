import { ConfigError, InputError, StoreError, type Store, type StoreErrorCode } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { FaultyStore, hourly, pass, setUpBreaker, stopDates, unreachable } from './support.ts'

stopDates()

const same = (store: Store): Store => store
const rest = 'store_unreachable'
const paused = 'store_paused'

/** Where a breaker may be: what is around it, what it is around, and the policies. */
const PLACES: Readonly<Record<string, Parameters<typeof setUpBreaker>[0]>> = {
  'around a store': {},
  'around a batched store': { inner: (store) => batched(store) },
  'inside a cache of denials': { wrap: (store) => cacheDenials(store) },
  'inside a store of leases': { wrap: leased, policies: [lease(hourly)] },
  'between all of them': {
    inner: (store) => batched(store),
    wrap: (store) => leased(cacheDenials(store)),
    policies: [lease(hourly)],
  },
}

describe.each(Object.entries(PLACES))('a breaker %s', (_, place) => {
  it('does not call a store that has failed as often in a row, and calls one that answers again', async () => {
    const { store, cause } = setUpBreaker({ ...place, failures: 3 })
    store.error = unreachable()
    const causes = []
    for (let count = 0; count < 6; count += 1) causes.push(await cause())
    expect(causes).toEqual([rest, rest, rest, paused, paused, paused])
    expect(store.calls).toHaveLength(3)
    store.error = undefined
    pass(999)
    expect(await cause()).toBe(paused)
    pass(1)
    expect(await cause()).toBeUndefined()
    expect(await cause('other')).toBeUndefined()
    expect(store.calls.filter((call) => call === 'check')).toHaveLength(5)
  })
})

describe('the count of failures', () => {
  it('is 5 in a row by default, and the pause a second', async () => {
    const store = new FaultyStore()
    const guarded = breaker(store)
    store.error = unreachable()
    for (let count = 0; count < 9; count += 1) await guarded.reset([]).catch(same)
    expect(store.calls).toHaveLength(5)
    pass(999)
    await guarded.reset([]).catch(same)
    expect(store.calls).toHaveLength(5)
    pass(1)
    await guarded.reset([]).catch(same)
    expect(store.calls).toHaveLength(6)
  })

  it('begins anew with each answer', async () => {
    const { store, cause } = setUpBreaker({ failures: 3 })
    for (let round = 0; round < 3; round += 1) {
      store.error = unreachable()
      expect([await cause(), await cause()]).toEqual([rest, rest])
      store.error = undefined
      expect(await cause()).toBeUndefined()
    }
    expect(store.calls).toHaveLength(9)
  })

  it('begins anew when the breaker closes', async () => {
    const { store, cause, open } = setUpBreaker({ failures: 2 })
    await open()
    store.error = undefined
    pass(1_000)
    expect(await cause()).toBeUndefined()
    store.error = unreachable()
    expect([await cause(), await cause(), await cause()]).toEqual([rest, rest, paused])
  })

  it('is of all calls together: checks, operations and resets', async () => {
    const { limiter, store, cause } = setUpBreaker({ failures: 2 })
    store.error = unreachable()
    await limiter.reset({ tenant: 'acme' }).catch(same)
    expect([await cause(), await cause()]).toEqual([rest, paused])
  })

  it('is of failed calls, not of the decisions that they were to make', async () => {
    const { store, cause } = setUpBreaker({ inner: (inner) => batched(inner), failures: 2 })
    for (const count of [1, 2]) {
      store.error = unreachable()
      await Promise.all(Array.from({ length: 5 }, (_, index) => cause(`tenant-${index}`)))
      expect(store.calls).toHaveLength(count)
    }
    expect(store.calls).toEqual(['batch', 'batch'])
    expect(await cause()).toBe(paused)
  })
})

/** The errors of a store, by what they say, and whether they open a breaker. */
const ERRORS: Readonly<Record<StoreErrorCode, boolean>> = {
  store_timeout: true,
  store_unreachable: true,
  store_unauthorized: true,
  store_bad_reply: true,
  store_failed: true,
  store_refused: false,
  store_conflict: false,
  store_moved: false,
  store_paused: false,
}
const MORE: readonly (readonly [string, Error, boolean])[] = [
  ['a refusal with a status, as of a proxy', new StoreError('store_refused', 'no', 502), true],
  ['an error of your own store', new TypeError('a bug'), true],
  ['a mistake in options', new ConfigError('missing_credentials', 'url', 'is missing'), false],
  ['a mistake in a call', new InputError('invalid_cost', 'cost', 'is none'), false],
]
const CASES = [
  ...Object.entries(ERRORS).map(
    ([code, opens]) => [code, new StoreError(code as StoreErrorCode, 'text'), opens] as const,
  ),
  ...MORE,
]

describe('a store that throws', () => {
  it.each(CASES.filter(([, , opens]) => opens))('%s opens the breaker', async (_, error) => {
    const store = new FaultyStore()
    const guarded = breaker(store, { failures: 1 })
    store.error = error
    await expect(guarded.reset([])).rejects.toBe(error)
    await expect(guarded.reset([])).rejects.toMatchObject({ code: 'store_paused' })
    expect(store.calls).toHaveLength(1)
  })

  it.each(CASES.filter(([, , opens]) => !opens))('%s does not', async (_, error) => {
    const store = new FaultyStore()
    const guarded = breaker(store, { failures: 1 })
    store.error = error
    for (let count = 0; count < 3; count += 1) {
      await expect(guarded.reset([])).rejects.toBe(error)
    }
    expect(store.calls).toHaveLength(3)
  })

  it('the refusal of one key closes the breaker: the store answers', async () => {
    const { store, cause, open } = setUpBreaker()
    await open()
    store.error = new StoreError('store_refused', 'The store refused the command: ERR')
    pass(1_000)
    expect([await cause(), await cause()]).toEqual(['store_refused', 'store_refused'])
  })

  it('a mistake neither closes it nor counts as a failure in between', async () => {
    const { store, cause, open } = setUpBreaker({ failures: 2 })
    await open()
    const mistake = new ConfigError('missing_credentials', 'url', 'is missing')
    store.error = mistake
    pass(1_000)
    await expect(cause()).rejects.toBe(mistake)
    expect(await cause()).toBe(paused)
  })

  it('without a promise opens it as well', async () => {
    const broken = { ...memory(), check: () => expect.unreachable() }
    const { cause } = setUpBreaker({ inner: () => broken, failures: 1 })
    expect([await cause(), await cause()]).toEqual(['store_failed', paused])
  })
})
