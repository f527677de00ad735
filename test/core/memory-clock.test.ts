import { concurrency, createLimiter, definePlans, manualClock, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { planResolver } from '@sluice/core/plans'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it, vi } from 'vitest'
import { reserved } from '../reservations/reserved.ts'

const ACME = { tenant: 'acme' }
const MINUTE = 60_000
const tpm = slidingWindow({ name: 'tpm', limit: 100, window: '1d', per: ['tenant'], unit: 'token' })

describe('in memory, by an injected clock,', () => {
  it('a plan is looked up again when its time is over', async () => {
    const clock = manualClock(0)
    const lookUp = vi.fn<() => Promise<string>>(() => Promise.resolve('free'))
    const limiter = createLimiter({
      store: memory(),
      clock,
      plans: definePlans({ free: { tokens: 1 } }),
      extensions: [planResolver(lookUp, { cacheFor: '5m' })],
      policies: [tpm],
    })
    const asked: number[] = []
    for (let minute = 0; minute <= 20; minute += 1) {
      const work: Promise<unknown>[] = []
      const waitUntil = (promise: Promise<unknown>) => void work.push(promise)
      await limiter.check(ACME, { cost: { token: 0 }, waitUntil })
      await Promise.all(work)
      asked.push(lookUp.mock.calls.length)
      clock.advance(MINUTE)
    }
    expect(asked.filter((count, minute) => count !== asked[minute - 1])).toEqual([1, 2, 3, 4, 5])
    expect([asked[4], asked[5]]).toEqual([1, 2])
  })

  it('a reservation cannot be settled any more when its time is over', async () => {
    const clock = manualClock(0)
    const limiter = createLimiter({ store: memory(), clock, policies: [tpm] })
    const options = { cost: { token: 50 }, settleWithin: '1m' } as const
    const [early, late] = [
      await reserved(limiter, ACME, options),
      await reserved(limiter, ACME, options),
    ]
    clock.advance(MINUTE - 1)
    expect(await early.settle({ token: 1 })).toMatchObject({ applied: true })
    clock.advance(1)
    expect(await late.settle({ token: 1 })).toMatchObject({ applied: false })
    const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
    expect(policies[0]?.remaining).toBe(49)
  })

  it('a call can be ended for as long as it is held, however soon its cost is final', async () => {
    const clock = manualClock(0)
    const calls = concurrency({ name: 'calls', limit: 1, per: ['tenant'], maxDuration: '5m' })
    const limiter = createLimiter({ store: memory(), clock, policies: [calls] })
    const call = await reserved(limiter, ACME, { settleWithin: '1s' })
    clock.advance(4 * MINUTE)
    expect(await reserve(limiter, ACME)).toMatchObject({ allowed: false })
    await call.settle({})
    expect(await reserve(limiter, ACME)).toMatchObject({ allowed: true })
  })
})
