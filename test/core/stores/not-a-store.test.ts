import { createLimiter, slidingWindow, type Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'

const policies = [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })]

/** A store in memory, in which something else is in the place of a method. */
const without = (method: keyof Store) => ({ ...memory(), [method]: undefined })

/** The functions that take a store, by the option that an error names. */
const TAKERS: Readonly<Record<string, (store: Store) => unknown>> = {
  store: (store) => createLimiter({ store, policies }),
  'cacheDenials.store': (store) => cacheDenials(store),
  'leased.store': (store) => leased(store),
  'batched.store': (store) => batched(store),
  'breaker.store': (store) => breaker(store),
}

const WRONG: Readonly<Record<string, unknown>> = {
  nothing: undefined,
  null: null,
  'an address': 'https://example.com',
  'a factory that was not called': upstash,
  'a store without run': without('run'),
  'a store without reset': without('reset'),
  'a store without check': without('check'),
}

describe.each(Object.entries(TAKERS))('%s', (option, take) => {
  it.each(Object.entries(WRONG))('is not %s', (_, store) => {
    expect(() => take(store as Store)).toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        option,
        message: expect.stringContaining('must be a store, such as upstash() or memory()'),
      }),
    )
  })
})

it.each([
  ['cacheDenials', cacheDenials(memory())],
  ['leased', leased(memory())],
  ['batched', batched(memory())],
  ['breaker', breaker(memory())],
])('batched wraps no store of %s, which may answer without the store', (_, store) => {
  expect(() => batched(store)).toThrow(/batched.store: must be the store in Redis itself/)
})
