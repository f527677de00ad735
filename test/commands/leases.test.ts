import { readFileSync } from 'node:fs'
import { createLimiter, manualClock, slidingWindow } from '@sluice/core'
import { lease, leased } from '@sluice/core/leases'
import { expect, it } from 'vitest'
import { spend } from '../support/decisions.ts'
import { ownRedis } from '../support/running-redis.ts'
import { NOON } from '../support/times.ts'

const page = readFileSync(new URL('../../docs/fewer-trips.md', import.meta.url), 'utf8')
const everyone = slidingWindow({ name: 'everyone', limit: 100_000, window: '1m', per: 'global' })

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedis()

/** Measures a thousand decisions of a warm limiter, one after another. */
async function thousand(most: number) {
  const store = leased(own.store())
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store, policies: [lease(everyone, { most })], clock })
  await spend(limiter, 3)
  await store.returnUnits()
  const before = own.local.requests
  const { total } = await own.meter.measure(() => spend(limiter, 1_000))
  const trips = own.local.requests - before
  // An injected clock saves the TIME that every other check has.
  return { trips, commands: total + trips }
}

it('a thousand decisions in blocks of 50 take as many round trips and commands as the page states', async () => {
  const { trips, commands } = await thousand(50)
  const [, publishedTrips, publishedCommands] =
    /take (\d+) round trips\s+and (\d+) commands/.exec(page) ?? []
  expect([trips, commands]).toEqual([Number(publishedTrips), Number(publishedCommands)])
  expect(trips).toBeLessThanOrEqual(50)
  expect(commands).toBeLessThanOrEqual(500)
})

it('a policy that is leased one unit at a time costs what it costs without leases', async () => {
  const leasing = await thousand(1)
  const { limiter } = own.setUp([everyone], { clock: manualClock(NOON) })
  await spend(limiter, 1)
  const plain = await own.meter.measure(() => spend(limiter, 1_000))
  expect(leasing).toEqual({ trips: 1_000, commands: plain.total + 1_000 })
})
