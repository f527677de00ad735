import { readFileSync } from 'node:fs'
import {
  concurrency,
  createLimiter,
  dailyCap,
  leakyBucket,
  manualClock,
  packed,
  projectLimits,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Extension,
  type Policy,
} from '@sluice/core'
import { partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'
import { limitGuesses, rateLimit } from '@sluice/core/http'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import type { Metered } from '../support/command-meter.ts'
import { tableOf } from '../support/markdown.ts'
import { ownRedis } from '../support/running-redis.ts'
import { NOON, MINUTE } from '../support/times.ts'

const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')
const ACME = { tenant: 'acme', route: 'evaluate' }
const ADDRESS = { tenant: '192.0.2.1' }
const OTHER_ROUTE = { ...ACME, route: 'feedback' }

const rpm = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })
const daily = (limit: number): Policy => dailyCap({ name: 'daily', limit, per: ['tenant'] })
const byRoute = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })
const both = [daily(30_000), rpm]
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
const packedMinute = packed(slidingWindow({ name: 'rpm', ...minute }))
const bucket = tokenBucket({ name: 'rpm', ...minute })
const queue = leakyBucket({ name: 'rpm', burst: 60, ...minute })
const run = sessionWindow({ name: 'run', limit: 60, idle: '30m', per: ['tenant'] })
const project = [projectLimits({ per: ['tenant'] })]

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedis()

/** A warm limiter with an injected clock and keys of its own. */
async function warm(policies: readonly Policy[], extensions: readonly Extension[] = []) {
  const store = own.store()
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store, policies, clock, extensions })
  await limiter.peek({ tenant: 'warm', route: 'warm' })
  /** Measures one check. An injected clock saves the TIME that every other check has. */
  const check = async (allowed: boolean, cost = 1, subject = ACME): Promise<Metered> => {
    const metered = await own.meter.measure(async () => {
      expect(await limiter.check(subject, { cost })).toMatchObject({ allowed, degraded: undefined })
    })
    return { ...metered, total: metered.total + 1 }
  }
  /** Spends `times` requests, one every `gapMs`. */
  const spend = async (times: number, gapMs = 0): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
      clock.advance(gapMs)
    }
  }
  /** Measures allowed checks, with the wait after each, per check. */
  const average = async (times: number, gap: (time: number) => number): Promise<Metered> => {
    const { total, writes, calls } = await own.meter.measure(async () => {
      for (let time = 0; time < times; time += 1) await spend(1, gap(time))
    })
    return { total: total / times + 1, writes: writes / times, calls }
  }
  return { limiter, clock, check, spend, average }
}

/** Measures the settling of a reservation of 3 requests at `actual`, the last of `times` times. */
async function settling(policies: readonly Policy[], actual: number, times = 1): Promise<Metered> {
  const { limiter } = await warm(policies)
  const [before, decision] = [
    await reserve(limiter, ACME, { cost: { request: 3 } }),
    await reserve(limiter, ACME, { cost: { request: 3 } }),
  ]
  if (!before.allowed || !decision.allowed) throw new Error('A reservation was denied')
  // The script is loaded with it.
  await before.settle({ request: actual })
  const settle = () => decision.settle({ request: actual })
  for (let time = 1; time < times; time += 1) await settle()
  return own.meter.measure(settle)
}

/** The same "random" waits every time, exponentially distributed. */
function waits(meanMs: number): () => number {
  let seed = 42
  return () => {
    seed = (seed * 48_271) % 2_147_483_647
    return Math.round(-Math.log(seed / 2_147_483_647) * meanMs)
  }
}

/** A warm limiter with a record of settings for each partition. */
const warmRecords = () =>
  warm(both, [
    runtimeConfiguration({ allow: { daily: ['limit'] }, partitions: partitionRecords() }),
  ])

/** The measurements, by the first column of the page's table. */
const MEASURED: Record<string, () => Promise<Metered>> = {
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
  'four policies, allowed, 30 a minute at random': async () =>
    (await warm(four)).average(1_500, waits(2_000)),
  'four policies, denied': async () => {
    const { check, spend } = await warm(four)
    await spend(60)
    return check(false)
  },
  'a counter, allowed, 30 a minute': async () => (await warm([counter])).average(300, waits(2_000)),
  'a counter, denied': async () => deniedAfter([counter]),
  'a packed window, allowed, 30 a minute': async () =>
    (await warm([packedMinute])).average(300, waits(2_000)),
  'a packed window, denied': async () => deniedAfter([packedMinute]),
  'settle a packed window below the estimate': () => settling([packedMinute], 1),
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
  'an own limit, the first decision in an isolate': async () => (await warmRecords()).check(true),
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

/** Measures a denial by policies of 60 at most, once they are spent. */
async function deniedAfter(policies: readonly Policy[]): Promise<Metered> {
  const { check, spend } = await warm(policies)
  await spend(60)
  return check(false)
}

const rounded = (value: number): number => Math.round(value * 100) / 100

describe('Redis commands per decision', () => {
  const published = tableOf(page, 'outcome')
  const measured = new Map<string, Metered>()

  it.each(Object.entries(MEASURED))(
    '%s: the page states the measured number',
    async (outcome, act) => {
      const metered = await act()
      measured.set(outcome, metered)
      const { commands, writes } = published.get(outcome) ?? {}
      expect({ commands: rounded(metered.total), writes: rounded(metered.writes) }).toEqual({
        commands: Number(commands),
        writes: Number(writes),
      })
    },
  )

  it('the page lists no other outcome', () => {
    expect([...published.keys()].toSorted()).toEqual(Object.keys(MEASURED).toSorted())
  })

  it('an allowed decision has at most 7 on average, a denied one at most 5 and no write', () => {
    const of = (pattern: RegExp): Metered[] =>
      Array.from(measured).flatMap(([outcome, metered]) => (pattern.test(outcome) ? [metered] : []))
    for (const { total } of of(/^allowed, (?!one every 2.5)/)) expect(total).toBeLessThanOrEqual(7)
    for (const { total } of of(/^denied|^one policy, denied|^peek/))
      expect(total).toBeLessThanOrEqual(5)
    for (const { writes } of of(/denied|peek/)) expect(writes).toBe(0)
    for (const { total } of of(/^a .*, allowed/)) expect(total).toBeLessThanOrEqual(6.02)
    for (const { total } of of(/^a .*, denied(?!, a cost)/)) expect(total).toBeLessThanOrEqual(5)
    expect(measured.size).toBe(published.size)
  })

  it('by the clock of Redis each has one TIME more and no other difference', async () => {
    const store = own.store()
    const limiter = createLimiter({ store, policies: both })
    await limiter.peek(ACME)
    const first = await own.meter.measure(() => limiter.check(ACME))
    expect(Object.fromEntries(first.calls)).toEqual({
      evalsha: 1,
      time: 1,
      get: 1,
      zrange: 1,
      set: 1,
      zadd: 1,
      pexpire: 1,
    })
    const second = await own.meter.measure(() => limiter.check(ACME))
    expect(Object.fromEntries(second.calls)).toEqual({
      evalsha: 1,
      time: 1,
      get: 1,
      zrange: 1,
      set: 1,
      zadd: 1,
    })
  })
})
