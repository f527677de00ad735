import {
  coarse,
  createLimiter,
  manualClock,
  packed,
  slidingWindow,
  slidingWindows,
  type Decision,
  type Policy,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve, type Reservation } from '@sluice/core/reservations'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { freshPrefix } from '../../support/stores.ts'
import { overTcp } from '../../support/tcp-clients.ts'
import { NOON } from '../../support/times.ts'

const STEPS = 1_500
const LIMIT = 400

let tcp: ReturnType<typeof overTcp>
beforeAll(() => {
  tcp = overTcp('ioredis 5', inject('redisUrl'))
})
afterAll(() => tcp.close())

const per = ['tenant'] as const
const one = (): Policy => slidingWindow({ name: 'p', limit: LIMIT, window: '10s', per })
const three = (): Policy =>
  slidingWindows({
    name: 'p',
    windows: {
      short: { limit: 60, window: '1s' },
      middle: { limit: LIMIT, window: '10s' },
      long: { limit: 3 * LIMIT, window: '60s' },
    },
    per,
  })

type Random = (below: number) => number

function seeded(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

/** Pauses: mostly short, sometimes until much has expired, rarely longer than the numbers of one block. */
function pause(random: Random): number {
  const kind = random(200)
  if (kind === 0) return 20_000 + random(100_000)
  if (kind < 4) return 3_000 + random(8_000)
  return kind < 40 ? 0 : random(kind < 100 ? 8 : 60)
}

interface Side {
  readonly store: Store
  readonly policy: Policy
}

/** Lives through one history with every side, and compares each outcome. Returns how many were denied. */
async function replay(sides: readonly Side[], seed: number): Promise<number> {
  const random = seeded(seed)
  const clock = manualClock(NOON)
  const limiters = sides.map(({ store, policy }) =>
    createLimiter({ store, policies: [policy], clock }),
  )
  const open: Reservation[][] = []
  let denied = 0
  for (let step = 0; step < STEPS; step += 1) {
    clock.advance(pause(random))
    const cost = random(30) === 0 ? random(LIMIT) : 1 + (random(4) === 0 ? random(8) : 0)
    const kind = random(10)
    if (random(400) === 0) {
      await Promise.all(limiters.map((limiter) => limiter.reset(ACME)))
      clock.advance(1)
    }
    let outcomes: unknown[]
    if (kind < 3) {
      const decisions = await Promise.all(
        limiters.map((limiter) => reserve(limiter, ACME, { cost })),
      )
      if (decisions.every(({ allowed }) => allowed)) open.push(decisions as never)
      outcomes = decisions.map(outcomeOf)
    } else if (kind < 6 && open.length > 0) {
      const [reserved] = open.splice(random(open.length), 1) as [Reservation[]]
      const request = random(3) === 0 ? 0 : random(12)
      outcomes = await Promise.all(reserved.map((call) => call.settle({ request })))
    } else {
      const decisions = await Promise.all(limiters.map((limiter) => limiter.check(ACME, { cost })))
      denied += decisions[0]?.allowed ? 0 : 1
      outcomes = decisions.map(outcomeOf)
    }
    for (const outcome of outcomes) expect(outcome, `step ${step}`).toEqual(outcomes[0])
  }
  return denied
}

function outcomeOf({ allowed, reason, retryAfterMs, degraded, policies }: Decision) {
  return { allowed, reason, retryAfterMs, degraded, policies }
}

describe.each([
  ['one window', one],
  ['three windows', three],
])('over long histories with settlements, %s', (_, make) => {
  it.each([1, 2, 3, 4])(
    'packed decides as the sorted set, in memory and in Redis (%i)',
    async (seed) => {
      const sides = [
        { store: memory(), policy: make() },
        { store: memory(), policy: packed(make()) },
        { store: tcp.make(freshPrefix()), policy: packed(make()) },
      ]
      expect(await replay(sides, seed * 7_919)).toBeGreaterThan(STEPS / 100)
    },
  )

  it.each([1, 2, 3, 4])('coarse decides in Redis as in memory (%i)', async (seed) => {
    const policy = coarse(make(), { maxError: 0.1 })
    const sides = [
      { store: memory(), policy },
      { store: tcp.make(freshPrefix()), policy },
    ]
    expect(await replay(sides, seed * 7_919)).toBeGreaterThan(STEPS / 100)
  })
})

it('packed decides as the sorted set while requests come and expire all the time', async () => {
  const clock = manualClock(NOON)
  const limiters = [
    createLimiter({ store: memory(), policies: [one()], clock }),
    createLimiter({ store: tcp.make(freshPrefix()), policies: [packed(one())], clock }),
  ]
  const random = seeded(1)
  for (let batch = 0; batch < 10; batch += 1) {
    const asked = Array.from({ length: 400 }, () => {
      clock.advance(random(50))
      return Promise.all(limiters.map((limiter) => limiter.check(ACME)))
    })
    for (const [sorted, inRedis] of (await Promise.all(asked)) as [Decision, Decision][]) {
      expect(outcomeOf(inRedis)).toEqual(outcomeOf(sorted))
    }
  }
})

/** The numbers on both sides of each border between lengths of a number in the string. */
const BORDERS = [1, 2, 55, 56, 57, 2_355, 2_356, 70_067, 70_068, 1_627_443, 1_627_444, 10 ** 9]

it('reads back pauses and costs of every length', async () => {
  const wide = slidingWindow({ name: 'p', limit: 10 ** 12, window: '300d', per })
  const clock = manualClock(NOON)
  const [sorted, inRedis] = [
    createLimiter({ store: memory(), policies: [wide], clock }),
    createLimiter({ store: tcp.make(freshPrefix()), policies: [packed(wide)], clock }),
  ]
  for (const cost of BORDERS) {
    for (const pauseMs of BORDERS) {
      const decisions = await Promise.all(
        [sorted, inRedis].map((limiter) => limiter.check(ACME, { cost })),
      )
      expect(outcomeOf(decisions[1] as Decision)).toEqual(outcomeOf(decisions[0] as Decision))
      clock.advance(pauseMs)
    }
  }
  // Reads the whole log: each cost fits once so many units have come back.
  for (let cost = 10 ** 12; cost > 9.8 * 10 ** 11; cost -= 123_456_789) {
    const peeked = await Promise.all(
      [sorted, inRedis].map((limiter) => limiter.peek(ACME, { cost })),
    )
    expect(outcomeOf(peeked[1] as Decision)).toEqual(outcomeOf(peeked[0] as Decision))
  }
})
