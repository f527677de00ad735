import {
  concurrency,
  dailyCap,
  leakyBucket,
  projectLimits,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'
import { limitGuesses, rateLimit } from '@sluice/core/http'
import { reserve } from '@sluice/core/reservations'
import { expect } from 'vitest'
import type { Metered } from '../support/command-meter.ts'
import { MINUTE } from '../support/times.ts'
import { ACME, deniedAfter, own, settling, waits, warm } from './support.ts'

const ADDRESS = { tenant: '192.0.2.1' }
const OTHER_ROUTE = { ...ACME, route: 'feedback' }

const rpm = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })
const daily = (limit: number): Policy => dailyCap({ name: 'daily', limit, per: ['tenant'] })
const byRoute = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })
/** The policies of most outcomes: a daily cap and a window of a minute. */
export const both = [daily(30_000), rpm]
const llm = [
  daily(30_000),
  tokenBucket({ name: 'bucket', limit: 60, window: '1m', per: ['tenant'] }),
  concurrency({ name: 'calls', limit: 5, per: ['tenant'] }),
]
const four = [
  ...both,
  slidingWindow({ name: 'rps', limit: 60, window: '1s', per: ['tenant'] }),
  slidingWindow({ name: 'all', limit: 10_000, window: '1m', per: 'global' }),
]

const minute = { limit: 60, window: '1m', per: ['tenant'] } as const
const counter = slidingWindowCounter({ name: 'rpm', segments: 6, ...minute })
const bucket = tokenBucket({ name: 'rpm', ...minute })
const queue = leakyBucket({ name: 'rpm', burst: 60, ...minute })
const run = sessionWindow({ name: 'run', limit: 60, idle: '30m', per: ['tenant'] })
const project = [projectLimits({ per: ['tenant'] })]

/** A warm limiter with a record of settings for each partition. */
const warmRecords = () =>
  warm(both, [
    runtimeConfiguration({ allow: { daily: ['limit'] }, partitions: partitionRecords() }),
  ])

/** The measurements of each outcome, by the first column of the page's table. */
export const MEASURED: Record<string, () => Promise<Metered>> = {
  'first of the day': async () => (await warm(both)).check(true),
  'first in a window': async () => {
    const { check, spend, clock } = await warm([daily(30_000), byRoute])
    await spend(1)
    clock.advance(1)
    return check(true, 1, OTHER_ROUTE)
  },
  'allowed, 30 a minute at random': async () => (await warm(both)).average(1_500, waits(2_000)),
  'allowed, one every 2 s': async () => (await warm(both)).average(900, () => 2_000),
  'allowed, 60 at once every minute': async () =>
    (await warm(both)).average(600, (time) => (time % 60 === 59 ? MINUTE : 0)),
  'allowed, one a minute': async () => (await warm(both)).average(60, () => MINUTE),
  'allowed, one every 2.5 min': async () => (await warm(both)).average(60, () => 2.5 * MINUTE),
  'denied by the window': async () => {
    const { check, spend } = await warm(both)
    await spend(60, 500)
    return check(false)
  },
  'denied by the daily cap': async () => {
    const { check, spend } = await warm([daily(60), rpm])
    await spend(60, 500)
    return check(false)
  },
  'denied by the daily cap, 400 expired entries': async () => {
    const wide = slidingWindow({ name: 'rpm', limit: 400, window: '1m', per: ['tenant'] })
    const { check, spend, clock } = await warm([daily(400), wide])
    await spend(400, 10)
    clock.advance(MINUTE)
    return check(false)
  },
  'denied for ever, a cost above a limit': async () => {
    const { check, spend } = await warm(both)
    await spend(60)
    return check(false, 61)
  },
  peek: async () => {
    const { limiter, spend } = await warm(both)
    await spend(1)
    const metered = await own.meter.measure(() => limiter.peek(ACME))
    return { ...metered, total: metered.total + 1 }
  },
  reset: async () => {
    const { limiter, spend } = await warm(both)
    await spend(1)
    return own.meter.measure(() => limiter.reset(ACME))
  },
  'reserve, 30 a minute': async () => {
    const { limiter, clock } = await warm(both)
    // The script is loaded with it.
    await reserve(limiter, ACME)
    clock.advance(2_000)
    const metered = await own.meter.measure(() => reserve(limiter, ACME))
    return { ...metered, total: metered.total + 1 }
  },
  'settle below the estimate': () => settling(both, 1),
  'settle above the estimate': async () => {
    const { total, ...rest } = await settling(both, 5)
    return { ...rest, total: total + 1 }
  },
  'settle at the estimate': () => settling(both, 3),
  'settle again': async () => settling(both, 1, 2),
  'reserve a call in flight, tokens of a bucket and a budget': async () => {
    const { limiter } = await warm(llm)
    await reserve(limiter, ACME)
    const metered = await own.meter.measure(() => reserve(limiter, ACME))
    return { ...metered, total: metered.total + 1 }
  },
  'settle these': async () => {
    const { total, ...rest } = await settling(llm, 1)
    return { ...rest, total: total + 1 }
  },
  'one policy, allowed, 30 a minute at random': async () =>
    (await warm([rpm])).average(1_500, waits(2_000)),
  'one policy, denied': async () => {
    const { check, spend } = await warm([rpm])
    await spend(60)
    return check(false)
  },
  'one policy, denied, a cost of 800': async () => {
    const { check, spend } = await warm([
      slidingWindow({ name: 'rpm', limit: 1_000, window: '1m', per: ['tenant'] }),
    ])
    await spend(1_000, 10)
    return check(false, 800)
  },
  'four policies, allowed, 30 a minute at random': async () =>
    (await warm(four)).average(1_500, waits(2_000)),
  'four policies, denied': async () => {
    const { check, spend } = await warm(four)
    await spend(60)
    return check(false)
  },
  'the first of 64 choices fits': () => choosing(64, 0),
  'the last of 3 choices fits': () => choosing(3, 2),
  'the last of 64 choices fits': () => choosing(64, 63),
  'none of 3 choices fits': () => choosing(3, 3),
  'none of 64 choices fits': () => choosing(64, 64),
  'a counter, allowed, 30 a minute': async () => (await warm([counter])).average(300, waits(2_000)),
  'a counter, denied': async () => deniedAfter([counter]),
  'a token bucket, allowed, 30 a minute': async () =>
    (await warm([bucket])).average(300, waits(2_000)),
  'a token bucket, denied': async () => deniedAfter([bucket]),
  'a leaky bucket, allowed, 30 a minute': async () =>
    (await warm([queue])).average(300, waits(2_000)),
  'a leaky bucket, denied': async () => deniedAfter([queue]),
  'a session, allowed, 30 a minute': async () => {
    const { average, limiter } = await warm([run])
    const metered = await average(59, waits(2_000))
    expect((await limiter.peek(ACME)).policies[0]?.remaining).toBe(1)
    return metered
  },
  'a session, denied': async () => deniedAfter([run]),
  'settle a session below the estimate': () => settling([run], 1),
  "a project's first": async () => (await warm(project)).check(true),
  "a project's first 64, allowed": async () => {
    const { spend, average } = await warm(project)
    await spend(1, 1_000)
    return average(63, () => 1_000)
  },
  "a project's, allowed, 10 a minute at random": async () => {
    const { spend, average } = await warm(project)
    await spend(600, 6_000)
    return average(1_500, waits(6_000))
  },
  "a project's, denied by its minute": async () => deniedAfter(project),
  "a project's of thousands, denied": async () => {
    const { check, spend, clock } = await warm(project)
    await spend(3_000, 4_000)
    clock.advance(MINUTE)
    await spend(60)
    return check(false)
  },
  "a project's, denied, a cost of 800": async () => {
    const { check, spend } = await warm([projectLimits({ minute: 1_000, per: ['tenant'] })])
    await spend(800, 50)
    return check(false, 800)
  },
  'an own limit, the first decision in an isolate': async () => {
    const first = await (await warmRecords()).check(true)
    // The read of the records is a call of its own, with a TIME.
    return { ...first, total: first.total + 1 }
  },
  'an own limit, read in the last 5 s': async () => {
    const { check, spend } = await warmRecords()
    await spend(1)
    return check(true)
  },
  'an own limit, read before that': async () => {
    const { check, spend, limiter, clock } = await warmRecords()
    await spend(1)
    clock.advance(5_000)
    // Another tenant's decision has read the version of the settings of whole policies.
    await limiter.peek({ tenant: 'warm' })
    return check(true)
  },
  'guesses limited: good credentials': () => guarded(ACME),
  'guesses limited: a guess': () => guarded(null, 1),
  'guesses limited: one too many': () => guarded(ACME, 30),
}

const routeOf = (at: number) => ({ route: `route-${at}` })

/** Measures a decision among routes, each with a window of its own, of which the first `spent` are full. */
async function choosing(count: number, spent: number): Promise<Metered> {
  const { limiter, check, clock } = await warm([daily(30_000), byRoute])
  const list = choices(Array.from({ length: count }, (_, at) => ({ subject: routeOf(at) })))
  const tenant = { tenant: ACME.tenant }
  // The script is loaded with it.
  await limiter.peek({ tenant: 'warm' }, { choices: list })
  for (let at = 0; at < count; at += 1) {
    await check(true, at < spent ? 60 : 1, { ...ACME, ...routeOf(at) })
  }
  clock.advance(1)
  const metered = await own.meter.measure(async () => {
    const decision = await limiter.check(tenant, { choices: list })
    expect(decision).toMatchObject({ allowed: spent < count, choice: spent < count ? spent : 0 })
  })
  return { ...metered, total: metered.total + 1 }
}

/** Measures a request to a handler with a limit on guesses, when `guesses` have come before. */
async function guarded(found: { tenant: string } | null, guesses = 0): Promise<Metered> {
  const { limiter } = await warm(both)
  const address = slidingWindow({ name: 'guesses', limit: 30, window: '1m', per: ['tenant'] })
  const { limiter: addresses } = await warm([address])
  const ask = (subject: () => typeof found) =>
    rateLimit(
      limiter,
      { routes: ['/**'], subject, unauthenticated: limitGuesses(addresses, () => ADDRESS) },
      () => new Response(),
    )(new Request('https://app.example/'))
  // The script that gives back is loaded with it.
  await ask(() => ACME)
  for (let time = 0; time < guesses; time += 1) await ask(() => null)
  const metered = await own.meter.measure(() => ask(() => found))
  return { ...metered, total: metered.total + (found && guesses === 0 ? 2 : 1) }
}
