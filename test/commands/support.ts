import { createLimiter, manualClock, type Extension, type Policy } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { expect } from 'vitest'
import type { Metered } from '../support/command-meter.ts'
import { ownRedis } from '../support/running-redis.ts'
import { NOON } from '../support/times.ts'

export const ACME = { tenant: 'acme', route: 'evaluate' }

/** The Redis of these limiters. Every command on it is counted, so it is shared with nobody. */
export const own = ownRedis()

/** A warm limiter with an injected clock and keys of its own. */
export async function warm(policies: readonly Policy[], extensions: readonly Extension[] = []) {
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
export async function settling(
  policies: readonly Policy[],
  actual: number,
  times = 1,
): Promise<Metered> {
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

/** Measures a denial by policies of 60 at most, once they are spent. */
export async function deniedAfter(policies: readonly Policy[]): Promise<Metered> {
  const { check, spend } = await warm(policies)
  await spend(60)
  return check(false)
}

/** The same "random" waits every time, exponentially distributed. */
export function waits(meanMs: number): () => number {
  let seed = 42
  return () => {
    seed = (seed * 48_271) % 2_147_483_647
    return Math.round(-Math.log(seed / 2_147_483_647) * meanMs)
  }
}
