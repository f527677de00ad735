import { concurrency, createLimiter, definePlans, manualClock, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { planResolver } from '@sluice/core/plans'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { MINUTE } from '../../support/times.ts'
import { mustReserve } from '../reservations/support.ts'

const tpm = slidingWindow({ name: 'tpm', limit: 100, window: '1d', per: ['tenant'], unit: 'token' })

describe('in memory, with an injected clock,', () => {
  it('a plan is looked up again after its time to live', async () => {
    const clock = manualClock(0)
    const lookUp = vi.fn<() => Promise<string>>(() => Promise.resolve('free'))
    const limiter = createLimiter({
      store: memory(),
      clock,
      plans: definePlans({ free: { tokens: 1 } }),
      extensions: [planResolver(lookUp, { cacheFor: '5m' })],
      policies: [tpm],
    })
    const lookUps: number[] = []
    for (let minute = 0; minute <= 20; minute += 1) {
      const work: Promise<unknown>[] = []
      const waitUntil = (promise: Promise<unknown>) => void work.push(promise)
      await limiter.check(ACME, { cost: { token: 0 }, waitUntil })
      await Promise.all(work)
      lookUps.push(lookUp.mock.calls.length)
      clock.advance(MINUTE)
    }
    expect(lookUps.filter((count, minute) => count !== lookUps[minute - 1])).toEqual([
      1, 2, 3, 4, 5,
    ])
    expect([lookUps[4], lookUps[5]]).toEqual([1, 2])
  })

  it('a reservation cannot be settled after its deadline', async () => {
    const clock = manualClock(0)
    const limiter = createLimiter({ store: memory(), clock, policies: [tpm] })
    const options = { cost: { token: 50 }, settleWithin: '1m' } as const
    const [early, late] = [
      await mustReserve(limiter, ACME, options),
      await mustReserve(limiter, ACME, options),
    ]
    clock.advance(MINUTE - 1)
    expect(await early.settle({ token: 1 })).toMatchObject({ applied: true })
    clock.advance(1)
    expect(await late.settle({ token: 1 })).toMatchObject({ applied: false })
    const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
    expect(policies[0]?.remaining).toBe(49)
  })

  it('a call in flight can be ended as long as its slot is held, even after its cost is final', async () => {
    const clock = manualClock(0)
    const calls = concurrency({ name: 'calls', limit: 1, per: ['tenant'], maxDuration: '5m' })
    const limiter = createLimiter({ store: memory(), clock, policies: [calls] })
    const call = await mustReserve(limiter, ACME, { settleWithin: '1s' })
    clock.advance(4 * MINUTE)
    expect(await reserve(limiter, ACME)).toMatchObject({ allowed: false })
    await call.settle({})
    expect(await reserve(limiter, ACME)).toMatchObject({ allowed: true })
  })
})
