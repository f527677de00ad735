import { createLimiter, manualClock, slidingWindow, type Decision, type Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { expect, it } from 'vitest'
import { ownRedis } from '../../../support/running-redis.ts'
import { NOON } from '../../../support/times.ts'
import { stopDates } from './support.ts'

const own = ownRedis()

stopDates()

/** Requests of a tenant: the seconds since noon, and the cost. The log is read by its first 16 members. */
const REQUESTS = [
  ...Array.from({ length: 10 }, () => [0, 1] as const),
  ...Array.from({ length: 6 }, () => [1, 1] as const),
  ...Array.from({ length: 4 }, () => [1, 3] as const),
  ...Array.from({ length: 3 }, () => [2, 1] as const),
  // Fits when all of the first two seconds have left the window.
  [3, 28] as const,
]

/** Gives requests ids in descending order, so that each comes first among the members of its time. */
function withDescendingIds(store: Store): Store {
  let left = 100
  return {
    check(request) {
      left -= 1
      return store.check({ ...request, id: `id${left}` })
    },
    run: (operation) => store.run(operation),
    reset: (keys) => store.reset(keys),
  }
}

async function decide(store: Store, isTogether: boolean): Promise<Decision[]> {
  const clock = manualClock(NOON)
  const policies = [slidingWindow({ name: 'rpm', limit: 31, window: '1h', per: ['tenant'] })]
  const limiter = createLimiter({ store: withDescendingIds(store), policies, clock })
  const decisions: Promise<Decision>[] = []
  for (const [second, cost] of REQUESTS) {
    clock.set(NOON + second * 1_000)
    const decision = limiter.check({ tenant: 'acme' }, { cost })
    decisions.push(decision)
    if (!isTogether) await decision
  }
  return Promise.all(decisions)
}

it('a log that outgrows what is held of it is read as it is in Redis', async () => {
  const decisions = await decide(batched(own.store()), true)
  expect(decisions.at(-1)).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 - 2_000 })
  expect(decisions).toEqual(await decide(own.store(), false))
})
