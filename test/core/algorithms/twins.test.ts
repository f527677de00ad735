import { manualClock, slidingWindow, slidingWindows, type Policy } from '@sluice/core'
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
