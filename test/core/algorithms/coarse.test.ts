import { coarse, slidingWindow, slidingWindows, type Policy } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { mustReserve } from '../reservations/support.ts'

const LIMIT = 2_000
const per = ['tenant'] as const

/** The windows of a policy, in its order. */
const POLICIES: readonly (readonly [what: string, policy: Policy, windowsMs: readonly number[]])[] =
  [
    ['one window', slidingWindow({ name: 'p', limit: LIMIT, window: '1m', per }), [60_000]],
    [
      'windows of one log',
      slidingWindows({
        name: 'p',
        windows: {
          second: { limit: LIMIT / 10, window: '1s' },
          minute: { limit: LIMIT, window: '1m' },
          hour: { limit: 5 * LIMIT, window: '1h' },
        },
        per,
      }),
      [1_000, 60_000, 3_600_000],
    ],
  ]

/** Pauses of bursts, of steady traffic, and of nights. */
function pauses(seed: number): () => number {
  let [state, meanMs] = [seed, 20]
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  return () => {
    if (random(300) === 0) meanMs = [0, 2, 20, 200][random(4)] ?? 0
    if (random(3_000) === 0) return random(200_000)
    return random(2 * meanMs + 1)
  }
}

describe.each(POLICIES)('%s, counted coarsely', (_, policy, windowsMs) => {
  it.each([0.02, 0.1, 0.5])(
    'never exceeds a limit, and counts at most %d more than there is',
    async (maxError) => {
      const { limiter, clock } = setUp([coarse(policy, { maxError })])
      const pause = pauses(Math.round(maxError * 1_000_000))
      const charges: { at: number; cost: number }[] = []
      // By window, what it holds, and the index of its first charge.
      const held = windowsMs.map(() => ({ units: 0, first: 0 }))
      let excess = 0
      for (let step = 0; step < 12_000; step += 1) {
        clock.advance(pause())
        const cost = step % 10 === 0 ? 1 + (step % 37) : 1
        const { allowed, policies } = await limiter.check(ACME, { cost })
        for (const [index, windowMs] of windowsMs.entries()) {
          const window = held[index] as { units: number; first: number }
          while ((charges[window.first]?.at ?? clock()) <= clock() - windowMs) {
            window.units -= charges[window.first]?.cost ?? 0
            window.first += 1
          }
          const { limit = 0, remaining = 0, fits } = policies[index] ?? {}
          const counted = limit - remaining - (allowed ? cost : 0)
          expect(counted).toBeGreaterThanOrEqual(window.units)
          expect(counted).toBeLessThanOrEqual(window.units * (1 + maxError))
          expect(fits || window.units * (1 + maxError) + cost > limit).toBe(true)
          expect(!allowed || window.units + cost <= limit).toBe(true)
          excess = Math.max(excess, counted - window.units)
          window.units += allowed ? cost : 0
        }
        if (allowed) charges.push({ at: clock(), cost })
      }
      // Not only exact.
      expect(excess).toBeGreaterThan((LIMIT * maxError) / 8)
    },
  )
})

it('a coarse log that was reset gives back nothing for an earlier reservation', async () => {
  const policy = slidingWindow({ name: 'p', limit: LIMIT, window: '1m', per })
  const { limiter, clock } = setUp([coarse(policy, { maxError: 0.5 })])
  const early = await mustReserve(limiter, ACME, { cost: 50 })
  await limiter.reset(ACME)
  for (let request = 0; request < 500; request += 1) {
    clock.advance(10)
    await limiter.check(ACME)
  }
  await early.cancel()
  expect((await limiter.peek(ACME)).policies[0]?.remaining).toBe(LIMIT - 500)
})
