import {
  concurrency,
  createLimiter,
  dailyCap,
  fixedWindow,
  leakyBucket,
  listen,
  manualClock,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Limiter,
  type ManualClock,
  type Policy,
  type Problem,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reservation, reserve, type Settled } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { ACME, NOON } from '../conformance/cases/case.ts'
import { STORES, storesOf, type StoreName } from '../support/stores.ts'
import { reserved } from './reserved.ts'

const MINUTE = 60_000
const common = { name: 'p', limit: 100, per: ['tenant'], unit: 'token' } as const
const { limit, ...several } = common
const counter = slidingWindowCounter({ ...common, window: '1m', segments: 6 })

const WINDOWS: Record<string, readonly [policy: Policy, windowMs: number]> = {
  'a sliding window': [slidingWindow({ ...common, window: '1m' }), MINUTE],
  'a log': [slidingWindows({ ...several, windows: { w: { limit, window: '1m' } } }), MINUTE],
  'a sliding window counter': [counter, MINUTE],
  'a fixed window': [fixedWindow({ ...common, window: '1m' }), MINUTE],
  'a daily cap': [dailyCap(common), 86_400_000],
}
const BUCKETS: Record<string, Policy> = {
  'a token bucket': tokenBucket({ ...common, window: '1h' }),
  'a token bucket filled at intervals': tokenBucket({
    ...common,
    window: '1h',
    refill: 'interval',
  }),
  'a leaky bucket': leakyBucket({ ...common, window: '1h', burst: 100 }),
}

interface SetUp {
  readonly limiter: Limiter
  readonly clock: ManualClock
  /** Reserves so many tokens. */
  readonly take: (token: number) => ReturnType<typeof reserved>
  readonly left: () => Promise<number>
}

function setUp(store: Store, policies: readonly Policy[]): SetUp {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store, policies, clock })
  return {
    limiter,
    clock,
    take: (token) => reserved(limiter, ACME, { cost: { token }, settleWithin: '30d' }),
    left: async () => {
      const { degraded, policies: states } = await limiter.peek(ACME, { cost: { token: 0 } })
      expect(degraded).toBeUndefined()
      return Math.min(...states.map(({ remaining }) => remaining))
    },
  }
}

/** Why nothing was done, which is what is said then. */
async function why(settled: Promise<Settled>): Promise<Settled['why']> {
  const { why: reason, ...rest } = await settled
  expect(rest).toEqual({ applied: false, returned: {}, overrun: {} })
  return reason
}

const overrun = (token: number): Settled => ({ applied: true, returned: {}, overrun: { token } })
const NOTHING: Settled = { applied: true, returned: {}, overrun: {} }

describe.each(Object.keys(STORES) as StoreName[])('%s', (name) => {
  const make = storesOf(name)

  describe.each(Object.entries(BUCKETS))('%s', (_, policy) => {
    it('counts what was used beyond the same, whether or not anybody asked meanwhile', async () => {
      const left: number[] = []
      for (const isAsked of [false, true]) {
        const { limiter, clock, take, left: now } = setUp(make(), [policy])
        const decision = await take(30)
        clock.advance(12 * MINUTE)
        if (isAsked) await limiter.check(ACME, { cost: { token: 5 } })
        clock.advance(6 * MINUTE)
        expect(await decision.settle({ token: 90 })).toEqual(overrun(60))
        left.push((await now()) + (isAsked ? 5 : 0))
        clock.advance(20 * MINUTE)
        left.push((await now()) + (isAsked ? 5 : 0))
      }
      expect(left.slice(0, 2)).toEqual(left.slice(2))
      expect(left[0]).toBeLessThanOrEqual(40)
    })
    it('counts what was used beyond when its key has gone', async () => {
      const { limiter, clock, take, left } = setUp(make(), [policy])
      const decision = await take(10)
      clock.advance(10 * 60 * MINUTE)
      await limiter.reset(ACME)
      expect(await decision.settle({ token: 70 })).toEqual(overrun(60))
      expect(await left()).toBe(40)
    })
    it('gives back nothing of what has leaked, and says so', async () => {
      const { clock, take, left } = setUp(make(), [policy])
      const decision = await take(40)
      clock.advance(3 * 60 * MINUTE)
      expect(await decision.cancel()).toEqual(NOTHING)
      expect(await left()).toBe(100)
    })
  })

  describe.each(Object.entries(WINDOWS))('%s', (_, [policy, windowMs]) => {
    it('charges what was used beyond to the window of now once its own is over, and tells', async () => {
      const { clock, take, left } = setUp(make(), [policy])
      const decision = await take(30)
      clock.advance(2 * windowMs)
      expect(await left()).toBe(100)
      expect(await decision.settle({ token: 60 })).toEqual(overrun(30))
      expect(await left()).toBe(70)
      clock.advance(2 * windowMs)
      expect(await left()).toBe(100)
    })
    it('charges as much beyond as was reserved once, though the first is still stored', async () => {
      const { clock, take, left } = setUp(make(), [policy])
      const decision = await take(30)
      clock.advance(2 * windowMs - 1)
      await take(7)
      clock.advance(1)
      expect(await decision.settle({ token: 60 })).toEqual(overrun(30))
      expect(await left()).toBe(63)
      clock.advance(2 * windowMs)
      expect(await left()).toBe(100)
    })
    it.each([0, 1])(
      'gives nothing back after its end, and says so, with %i more since',
      async (n) => {
        const { clock, take, left } = setUp(make(), [policy])
        const decision = await take(30)
        clock.advance(2 * windowMs)
        if (n > 0) await take(n)
        expect(await decision.settle({ token: 10 })).toEqual(NOTHING)
        expect(await left()).toBe(100 - n)
      },
    )
  })

  it('a call that has come free by itself gives nothing back', async () => {
    const calls = concurrency({ name: 'p', limit: 2, per: ['tenant'], maxDuration: '30s' })
    const { limiter, clock } = setUp(make(), [calls])
    const call = await reserved(limiter, ACME)
    clock.advance(30_000)
    expect(await call.settle({})).toEqual(NOTHING)
  })

  it('a counter that was reset is charged beyond where memory charges it, too', async () => {
    // In memory and in this store: what is left at each moment, while the segments go out one by one.
    const both = await Promise.all(
      [memory(), make()].map(async (store) => {
        const { limiter, clock, take, left } = setUp(store, [counter])
        const decision = await take(30)
        await limiter.reset(ACME)
        clock.advance(10_000)
        await take(20)
        const told = [await decision.settle({ token: 55 }), await left()]
        for (let time = 0; time < 14; time += 1) {
          clock.advance(5_000)
          told.push(await left())
        }
        return told
      }),
    )
    expect(both[1]).toEqual(both[0])
    expect(both[0]?.slice(0, 2)).toEqual([overrun(25), 55])
    expect(both[0]?.at(-1)).toBe(100)
  })

  it('settling tells why it did nothing', async () => {
    const problems: Problem[] = []
    const clock = manualClock(NOON)
    const policies = [slidingWindow({ ...common, window: '1m', routes: ['ai'] })]
    const limiter = createLimiter({
      store: make(),
      policies,
      clock,
      extensions: [listen({ problem: (problem) => void problems.push(problem) })],
    })
    const ai = { ...ACME, route: 'ai' }
    const options = { cost: { token: 1 }, settleWithin: '10m' } as const
    const elsewhere = await reserved(limiter, { ...ACME, route: 'other' }, options)
    expect(await why(elsewhere.cancel())).toBe('nothing_charged')
    const twice = await reserved(limiter, ai, options)
    await twice.cancel()
    expect(await why(twice.cancel())).toBe('settled_before')
    const late = await reserved(limiter, ai, options)
    await late.cancel()
    clock.advance(600_001)
    expect(await why(late.cancel())).toBe('too_late')
    const own = (await reserved(limiter, ai, options)).toJSON()
    expect(problems).toEqual([])
    const lost = reservation(limiter, { ...own, id: 'unheard0of', local: true })
    expect(await why(lost.cancel())).toBe('made_elsewhere')
    expect(problems).toMatchObject([{ code: 'reservation_lost' }])
  })
})

const down = (): Store => upstash({ url: 'http://127.0.0.1:9', token: 'none' })

describe('a reservation that was made without the store', () => {
  const policies = [slidingWindow({ ...common, window: '1m' })]

  it('is settled by another limiter of the same process, where it was made', async () => {
    const first = createLimiter({ store: down(), policies })
    const other = createLimiter({ store: down(), policies })
    const decision = await reserved(first, ACME, { cost: { token: 40 } })
    expect(decision.degraded).toMatchObject({ mode: 'local' })
    const done = await reservation(other, JSON.stringify(decision)).settle({ token: 15 })
    expect(done).toEqual({ applied: true, returned: { token: 25 }, overrun: {} })
    const { policies: states } = await first.peek(ACME, { cost: { token: 0 } })
    expect(states[0]?.remaining).toBe(85)
  })

  it('is settled after ten thousand others were denied', async () => {
    const limiter = createLimiter({ store: down(), policies })
    const open = await reserved(limiter, ACME, { cost: { token: 100 } })
    for (let attempt = 0; attempt < 10_000; attempt += 1) {
      const denied = await reserve(limiter, ACME, { cost: { token: 1 } })
      if (denied.allowed) throw new Error('A reservation beyond the limit was allowed')
    }
    const done = await open.settle({ token: 15 })
    expect(done).toEqual({ applied: true, returned: { token: 85 }, overrun: {} })
  })
})
