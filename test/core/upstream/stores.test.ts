import { createLimiter, manualClock, slidingWindow, type Store } from '@sluice/core'
import { adaptiveLimit } from '@sluice/core/upstream'
import { describe, expect, it } from 'vitest'
import { withPending } from '../../support/pending-store.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'

const answer = (status: number) => async (): Promise<Response> => new Response(null, { status })

/** Isolates over one store, whose calls take 100 ms each. */
function isolatesOf(shared: Store, count: number) {
  const { store, settled } = withPending(shared)
  const clock = manualClock(NOON)
  const all = Array.from({ length: count }, () => {
    const model = adaptiveLimit({ policy: 'calls', min: 10 })
    const policy = slidingWindow({ name: 'calls', limit: 500, window: '1s', per: 'global' })
    const limiter = createLimiter({ store, clock, policies: [policy], extensions: [model] })
    return { model, limiter }
  })
  type Isolate = (typeof all)[number]

  /** Makes calls at the whole limit for so many seconds, each with this status. */
  async function run({ model, limiter }: Isolate, seconds: number, status: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      for (let tenth = 0; tenth < 10; tenth += 1) {
        const cost = Math.max(1, Math.floor(model.limit / 10))
        await limiter.check({ tenant: 'acme' }, { cost })
        const call = model.observe(async () => {
          clock.advance(100)
          return answer(status)()
        })
        await call
      }
      await settled()
    }
  }
  return { all, run }
}

describe.each(STORES_TO_TEST)('over %s', (name) => {
  const make = storesOf(name)

  it(
    'isolates share a limit that grows, and falls when calls fail',
    { timeout: 60_000 },
    async () => {
      const { all, run } = isolatesOf(make(), 2)
      const [first, second] = all as [(typeof all)[0], (typeof all)[0]]
      await run(first, 20, 200)
      const grown = first.model.limit
      expect(grown).toBeGreaterThan(40)
      // It has seen no call, and knows from the record.
      await second.limiter.check({ tenant: 'acme' })
      expect(second.model.limit).toBe(grown)
      await run(second, 12, 500)
      await first.limiter.check({ tenant: 'acme' })
      expect(first.model.limit).toBeLessThan(grown / 2)
      expect(first.model.limit).toBe(second.model.limit)
    },
  )
})
