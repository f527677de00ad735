/* Sweeps whose replies are lost: the store has released, and nobody knows. */
import { listen, slidingWindow, StoreError, type Store } from '@sluice/core'
import { release, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { describe, expect, it, vi } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { storesOf, type StoreName } from '../../support/stores.ts'

const NAMES: StoreName[] = [
  'memory',
  'redis, built-in transport',
  'embedded engine, built-in transport',
]

/** A store that loses calls that settle, or their replies. */
function losing(store: Store) {
  let lost: 'reply' | 'call' | undefined
  const faulty: Store = {
    ...store,
    check: (request) => store.check(request),
    reset: (keys) => store.reset(keys),
    async run(operation) {
      if (operation.kind.name !== 'settle' || !lost) return store.run(operation)
      if (lost === 'reply') await store.run(operation)
      throw new StoreError('store_timeout', 'the reply is lost')
    },
  }
  return { faulty, lose: (what: typeof lost) => void (lost = what) }
}

describe.each(NAMES)('in %s', (name) => {
  const make = storesOf(name)

  it.each(['reply', 'call'] as const)(
    'a sweep that loses its %s throws, and is counted and told once when it is repeated',
    async (what) => {
      const { faulty, lose } = losing(make())
      const told: string[] = []
      const problems: string[] = []
      const { limiter, clock } = setUp(
        [
          slidingWindow({
            name: 'tokens',
            unit: 'token',
            limit: 100,
            window: '1h',
            per: ['tenant'],
          }),
        ],
        {
          store: faulty,
          extensions: [
            listen({
              settled: ({ id }) => void told.push(id),
              problem: ({ code }) => void problems.push(code),
            }),
          ],
        },
      )
      await reserve(limiter, ACME, {
        cost: { token: 30 },
        settleWithin: '2m',
        unsettled: release(),
      })
      clock.advance(121_000)
      lose(what)
      await expect(sweepUnsettled(limiter, ACME)).rejects.toThrow('lost')
      // Its own repeats are in vain, too, and it says so.
      await vi.waitFor(() => expect(problems).toContain('reservation_lost'), 20_000)
      expect(told).toEqual([])
      lose(undefined)
      expect(await sweepUnsettled(limiter, ACME)).toBe(1)
      expect(told).toHaveLength(1)
      expect(await sweepUnsettled(limiter, ACME)).toBe(0)
      expect(told).toHaveLength(1)
    },
  )
})
