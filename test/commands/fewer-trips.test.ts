import { readFileSync } from 'node:fs'
import { createLimiter, fixedWindow, manualClock, slidingWindow } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { lease, leased, reserveFromLeases } from '@sluice/core/leases'
import { reserve } from '@sluice/core/reservations'
import { expect, it } from 'vitest'
import { spend } from '../support/decisions.ts'
import { ACME } from '../support/limiters.ts'
import { tableOf } from '../support/markdown.ts'
import { ownRedisOverHttp } from '../support/running-redis.ts'
import { NOON } from '../support/times.ts'

const pageOf = (name: string): string =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
const page = pageOf('more-than-one-redis')
const published = tableOf(pageOf('performance'), 'a thousand decisions, one by one')
const DECISIONS = 20_000
const everyone = slidingWindow({ name: 'everyone', limit: 100_000, window: '1m', per: 'global' })

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

/** Measures a thousand decisions of a warm limiter, one after another. */
async function thousand(most: number, fetchAhead = false) {
  const store = leased(own.store(), { fetchAhead })
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

/** The row of so many requests and commands in a thousand decisions. */
const rowOf = (trips: number, commands: number): object => ({
  'requests per decision': (trips / 1_000).toFixed(3),
  'commands per decision': (commands / 1_000).toFixed(3),
})

it('a thousand cached denials take as many requests and commands as the page states', async () => {
  const policy = slidingWindow({ name: 'hourly', limit: 1, window: '1h', per: ['tenant'] })
  const limiter = createLimiter({ store: cacheDenials(own.store()), policies: [policy] })
  await limiter.check(ACME)
  await limiter.check(ACME)
  const before = own.local.requests
  const { total } = await own.meter.measure(async () => {
    for (let time = 0; time < 1_000; time += 1) {
      expect((await limiter.check(ACME)).source).toBe('cache')
    }
  })
  expect(published.get('denied by `cacheDenials`')).toMatchObject(
    rowOf(own.local.requests - before, total),
  )
})

it('a thousand decisions take as many round trips and commands as the page states', async () => {
  const { trips, commands } = await thousand(100)
  const [, publishedTrips, publishedCommands] =
    /take\s+(\d+)\s+round\s+trips\s+and\s+(\d+)\s+commands/.exec(page) ?? []
  expect([trips, commands]).toEqual([Number(publishedTrips), Number(publishedCommands)])
  expect(published.get('leased in blocks of up to 100, `fetchAhead: false`')).toMatchObject(
    rowOf(trips, commands),
  )
  expect(trips).toBeLessThanOrEqual(50)
  expect(commands).toBeLessThanOrEqual(500)
})

it('blocks that are fetched ahead stay within the same bounds', async () => {
  const { trips, commands } = await thousand(100, true)
  expect(trips).toBeLessThanOrEqual(50)
  expect(commands).toBeLessThanOrEqual(500)
})

it('a thousand reservations from leases, settled one after another, take as many trips as the page states', async () => {
  const store = leased(own.store(), { fetchAhead: false, reservations: reserveFromLeases })
  const tokens = fixedWindow({ name: 't', limit: 1e7, unit: 'token', window: '1h', per: 'global' })
  const limiter = createLimiter({ store, policies: [lease(tokens)], clock: manualClock(NOON) })
  const call = async (): Promise<void> => {
    const reserved = await reserve(limiter, {}, { cost: { token: 700 } })
    if (!reserved.allowed) throw new Error('denied')
    await reserved.settle({ token: 700 })
  }
  for (let time = 0; time < 3; time += 1) await call()
  await store.returnUnits()
  const before = own.local.requests
  for (let time = 0; time < 1_000; time += 1) await call()
  const [, stated] = /a thousand, one after another, take (\d+)/.exec(page) ?? []
  expect(own.local.requests - before).toBe(Number(stated))
})

/** Makes 20,000 decisions, so many of them at the same time. Returns the trips of a decision. */
async function tripsOf(inFlight: number): Promise<number> {
  const store = leased(own.store())
  const ample = slidingWindow({ name: `for-${inFlight}`, limit: 1e7, window: '1m', per: 'global' })
  const limiter = createLimiter({ store, policies: [lease(ample)] })
  const before = own.local.requests
  let [started, counted] = [0, 0]
  const lane = async (): Promise<void> => {
    while (started < DECISIONS) {
      started += 1
      const { allowed, degraded } = await limiter.check({})
      if (allowed && !degraded) counted += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  expect(counted).toBe(DECISIONS)
  return (own.local.requests - before) / DECISIONS
}

it.each([1, 8, 64, 512])(
  'with %i decisions in flight, a decision takes at most as many trips as the page states',
  async (inFlight) => {
    const stated =
      /up to 8 decisions in flight, a decision takes at most (0\.\d+) round trips; with 64 or 512, at most (0\.\d+)/
    const [, few, many] = stated.exec(page.replaceAll('\n', ' ')) ?? []
    expect(await tripsOf(inFlight)).toBeLessThanOrEqual(Number(inFlight > 8 ? many : few))
  },
)

it('a policy that is leased one unit at a time costs what it costs without leases', async () => {
  const leasing = await thousand(1)
  const { limiter } = own.setUp([everyone], { clock: manualClock(NOON) })
  await spend(limiter, 1)
  const plain = await own.meter.measure(() => spend(limiter, 1_000))
  expect(leasing).toEqual({ trips: 1_000, commands: plain.total + 1_000 })
})
