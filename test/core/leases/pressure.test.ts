import { slidingWindow } from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { describe, expect, it } from 'vitest'
import { setUpLeases, settled } from './support.ts'

const [WINDOW, DURATION, LIMIT, STEP] = [60_000, 2_000, 60_000, 1_000]
const everyone = lease(
  slidingWindow({ name: 'everyone', limit: LIMIT, window: WINDOW, per: 'global' }),
  { duration: DURATION },
)

/** Decisions of a second: half as many again as the limit lets in. */
const OFFERED = (LIMIT * STEP * 1.5) / WINDOW

describe.each([1, 4])('under constant pressure by %i processes,', (processes) => {
  it.each([1, 64, 512])(
    'with %i decisions in flight in each, no more stays unused than the page states, in few trips',
    async (inFlight) => {
      const { shared, clock, start } = setUpLeases([everyone], { leases: { fetchAhead: true } })
      const limiters = Array.from({ length: processes }, () => start().limiter)
      const share = OFFERED / processes
      // The first windows are not counted: a limit that is fresh is used up at once.
      const begins = clock() + 2 * WINDOW
      const ends = begins + 3 * (WINDOW + DURATION)
      let [allowed, denied, trips] = [0, 0, 0]
      for (; clock() < ends; clock.advance(STEP)) {
        if (clock() === begins) [allowed, denied, trips] = [0, 0, -shared.checks.length]
        for (let made = 0; made < share; made += inFlight) {
          const calls = limiters.flatMap((limiter) =>
            Array.from({ length: Math.min(inFlight, share - made) }, () => limiter.check({})),
          )
          for (const decision of await Promise.all(calls)) {
            if (decision.allowed) allowed += 1
            else denied += 1
          }
        }
        await settled()
      }
      trips += shared.checks.length
      const used = (allowed * WINDOW) / (LIMIT * (ends - begins))
      const stated = 1 - DURATION / (WINDOW + DURATION)
      expect(used).toBeCloseTo(stated, 3)
      // Denials are told by the store.
      expect((trips - denied) / allowed).toBeLessThanOrEqual(inFlight < 64 ? 0.03 : 0.02)
    },
  )
})
