import {
  coarse,
  manualClock,
  packed,
  slidingWindow,
  slidingWindows,
  type Policy,
} from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'
import { mustReserve } from '../reservations/support.ts'

const shared = sharedRedis()

const NOBODY = {}
const common = { name: 'p', per: 'global', unit: 'token' } as const

/** A policy in memory and in Redis, by one clock. Each call is made in both, and must be answered alike. */
function twins(policy: Policy) {
  const clock = manualClock(NOON)
  const [memory, redis] = [
    setUp([policy], { clock }),
    setUp([policy], { clock, store: shared.store() }),
  ]
  async function alike(ask: 'check' | 'peek', token: number) {
    const [here, there] = await Promise.all(
      [memory, redis].map(({ limiter }) => limiter[ask](NOBODY, { cost: { token } })),
    )
    expect(there?.policies).toEqual(here?.policies)
    expect(there?.retryAfterMs).toBe(here?.retryAfterMs)
    return here
  }
  /** Reserves in both, and returns what settles both. */
  async function reserveAlike(token: number) {
    const calls = await Promise.all(
      [memory, redis].map(({ limiter }) => mustReserve(limiter, NOBODY, { cost: { token } })),
    )
    return (actual: number) => Promise.all(calls.map((call) => call.settle({ token: actual })))
  }
  return { clock, alike, reserveAlike }
}

/** Numbers around those at which a packed log needs one more character. */
const NUMBERS = [
  1, 55, 56, 57, 2_355, 2_356, 2_357, 9_000, 70_067, 70_068, 70_069, 778_756, 900_001,
]
const LONG = [1_627_443, 1_627_444, 1_627_445, 30_000_000]

describe('a packed log', () => {
  it('holds gaps and units of any length', async () => {
    const limit = 10 ** 9
    const { clock, alike } = twins(packed(slidingWindow({ ...common, limit, window: '7d' })))
    let used = 0
    for (const number of [...NUMBERS, ...LONG]) {
      await alike('check', number)
      used += number
      clock.advance(number)
    }
    // Each is to be waited for in turn.
    let freed = 0
    for (const number of [...NUMBERS, ...LONG]) {
      freed += number
      const { retryAfterMs } = (await alike('peek', limit - used + freed)) ?? {}
      expect(retryAfterMs).toBeGreaterThan(0)
    }
  })
})

describe('a packed log of several blocks', () => {
  it('is corrected inside, and completes more blocks after it', async () => {
    const limit = 2_000
    const { clock, alike, reserveAlike } = twins(
      packed(slidingWindow({ ...common, limit, window: '1h' })),
    )
    const fill = async (steps: number) => {
      for (let step = 0; step < steps; step += 1) {
        await alike('check', 1 + (step % 3))
        clock.advance(1 + (step % 5) * 100)
      }
    }
    await fill(100)
    const settle = await reserveAlike(7)
    clock.advance(1)
    await fill(150)
    await settle(2)
    await fill(200)
    for (let part = 0; part <= 40; part += 1) await alike('peek', limit - 20 * part)
    expect(await alike('peek', 0)).toMatchObject({ allowed: true })
  })
})

describe('a coarse log', () => {
  it('merges more than fill a block, and counts on after it', async () => {
    const limit = 5_000
    const { clock, alike } = twins(
      coarse(slidingWindow({ ...common, limit, window: '1h' }), { maxError: 0.004 }),
    )
    for (let step = 0; step < 500; step += 1) {
      await alike('check', 1 + (step % 4))
      clock.advance(1 + (step % 7) * 90)
    }
    for (let part = 0; part <= 20; part += 1) await alike('peek', limit - 50 * part)
    clock.advance(3_500_000)
    for (let step = 0; step < 50; step += 1) {
      await alike('check', 1)
      await alike('peek', limit)
      clock.advance(2_000)
    }
    expect(await alike('peek', 0)).toMatchObject({ allowed: true })
  })
})

describe('a sliding window', () => {
  it('charges now what is used beyond a reservation whose window is over', async () => {
    const { clock, alike, reserveAlike } = twins(
      slidingWindow({ ...common, limit: 20, window: '1s' }),
    )
    const settle = await reserveAlike(5)
    clock.advance(1_100)
    await settle(8)
    expect((await alike('peek', 1))?.policies[0]?.remaining).toBe(17)
    clock.advance(999)
    expect((await alike('peek', 20))?.retryAfterMs).toBe(1)
  })
})

describe('several windows over one log', () => {
  const windows = {
    second: { limit: 20, window: '1s' },
    long: { limit: 40, window: '8s' },
  } as const

  it('keep what has expired until the next eighth of the longest, for a clock that steps back', async () => {
    const { clock, alike } = twins(slidingWindows({ ...common, windows }))
    for (const [cost, after] of [
      [3, 100],
      [4, 8_050],
      [5, 8_150],
    ] as const) {
      clock.set(NOON + after)
      await alike('check', cost)
    }
    clock.set(NOON + 8_090)
    expect((await alike('peek', 1))?.policies.at(-1)?.remaining).toBe(28)
  })

  it.each([
    ['in its window', 400],
    ['after all windows', 8_100],
  ])('count what is used beyond a reservation, %s', async (_, afterMs) => {
    const { clock, alike, reserveAlike } = twins(slidingWindows({ ...common, windows }))
    const settle = await reserveAlike(5)
    for (const cost of [1, 2]) {
      clock.advance(100)
      await alike('check', cost)
    }
    clock.advance(afterMs - 200)
    await settle(9)
    for (const cost of [1, 8, 12, 16, 20]) {
      await alike('peek', cost)
      clock.advance(150)
    }
    expect(await alike('peek', 0)).toMatchObject({ allowed: true })
  })

  it('tell when a cost fits after the first have left', async () => {
    const { clock, alike } = twins(slidingWindows({ ...common, windows }))
    for (const [cost, pauseMs] of [
      [3, 500],
      [4, 400],
      [5, 300],
    ] as const) {
      await alike('check', cost)
      clock.advance(pauseMs)
    }
    // 9 of 20 are left in the second: 4 leave after 300 ms, and 5 after 700.
    for (const [cost, retryMs] of [
      [12, 300],
      [15, 300],
      [16, 700],
      [20, 700],
    ] as const) {
      expect((await alike('peek', cost))?.retryAfterMs).toBe(retryMs)
    }
  })
})
