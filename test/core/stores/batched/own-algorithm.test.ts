import { createLimiter, dailyCap, definePolicy, type Algorithm } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { expect, it } from 'vitest'
import { ownRedis } from '../../../support/running-redis.ts'
import { checks, none, causes, stopDates } from './support.ts'

const own = ownRedis()

stopDates()

/** Counts up to the limit, for ever. Its key is read by a command that is held, and written by others. */
const hits: Algorithm<number> = {
  id: 'test.hits',
  check: (used = 0, { limit, cost }) => ({
    fits: cost === 0 || used + cost <= limit,
    available: Math.max(0, limit - used),
    resetMs: 1_000,
    retryMs: used + cost <= limit ? 0 : 1_000,
  }),
  add: (used = 0, { cost }, now) => ({
    state: used + cost,
    expiresAt: now + 60_000,
    position: now,
  }),
  lua: () => ({
    check: `local used = tonumber(redis.call('GET', key) or 0)
fits = cost == 0 or used + cost <= limit
available, reset = limit - used, 1000
if not fits then retry = 1000 end`,
    add: `redis.call('INCRBY', key, cost)
redis.call('PEXPIRE', key, 60000)`,
    position: 'now',
  }),
}

const policies = [
  dailyCap({ name: 'daily', limit: 6, per: ['tenant'] }),
  definePolicy('hits', { name: 'hits', limit: 5, per: ['tenant'] }, [], () => ({
    algorithm: hits,
    params: [],
    windowMs: 1_000,
  })),
]

it('an algorithm of your own counts each decision of a shared call', async () => {
  const limiter = createLimiter({ store: batched(own.store()), policies })
  const decisions = await checks(limiter, 16)
  expect(causes(decisions)).toEqual(none(16))
  const remaining = decisions.map(({ policies: states }) => states.map((state) => state.remaining))
  // Of two tenants in turn, each has five; a denied check charges neither policy.
  const [first, second] = [0, 1].map((from) => remaining.filter((_, index) => index % 2 === from))
  expect(first).toEqual([
    [5, 4],
    [4, 3],
    [3, 2],
    [2, 1],
    [1, 0],
    [1, 0],
    [1, 0],
    [1, 0],
  ])
  expect(second).toEqual(first)
  expect(await limiter.peek({ tenant: 't0' })).toMatchObject({ allowed: false })
})
