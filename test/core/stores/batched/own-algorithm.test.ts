import { createLimiter, dailyCap, definePolicy, type Algorithm, type Limiter } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { memory } from '@sluice/core/memory'
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

const policyOf = (algorithm: Algorithm<number>) =>
  definePolicy('hits', { name: 'hits', limit: 5, per: ['tenant'] }, [], () => ({
    algorithm,
    params: [],
    windowMs: 1_000,
  }))

const policies = [dailyCap({ name: 'daily', limit: 6, per: ['tenant'] }), policyOf(hits)]

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

/** The same algorithm, with so many units fewer in both twins. */
const fewer = (units: number): Algorithm<number> => ({
  ...hits,
  check(used, input) {
    const found = hits.check(used, input, 0)
    return { ...found, available: found.available - units }
  },
  lua(params) {
    const lua = hits.lua(params)
    return { ...lua, check: `${lua.check}\navailable = available - ${units}` }
  },
})

it.each([
  ['memory', () => memory()],
  ['Redis', () => own.store()],
  ['Redis, batched', () => batched(own.store())],
])('decides by the right one of two algorithms with the same id in %s', async (_, make) => {
  const store = make()
  const [one, two] = [1, 2].map((units) =>
    createLimiter({ store, policies: [policyOf(fewer(units))] }),
  ) as [Limiter, Limiter]
  // The first has its script before the second is made; then both decide in one moment.
  await one.peek({ tenant: 'first' })
  const decisions = await Promise.all(
    [one, two, one, two].map((limiter) => limiter.peek({ tenant: 'same' })),
  )
  expect(decisions.map((decision) => decision.policies[0]?.remaining)).toEqual([4, 3, 4, 3])
})
