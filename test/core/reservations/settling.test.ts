import {
  concurrency,
  createLimiter,
  dailyCap,
  fixedWindow,
  leakyBucket,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reservation, reserve, type Settled } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { ACME, setUp, collectProblems } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { MINUTE, DAY } from '../../support/times.ts'
import { mustReserve, setUpTokens } from './support.ts'

const common = { name: 'p', limit: 100, per: ['tenant'], unit: 'token' } as const
const { limit, ...several } = common
const counter = slidingWindowCounter({ ...common, window: '1m', segments: 6 })

const WINDOWS: Record<string, readonly [policy: Policy, windowMs: number]> = {
  'a sliding window': [slidingWindow({ ...common, window: '1m' }), MINUTE],
  'a log': [slidingWindows({ ...several, windows: { w: { limit, window: '1m' } } }), MINUTE],
  'a sliding window counter': [counter, MINUTE],
  'a fixed window': [fixedWindow({ ...common, window: '1m' }), MINUTE],
  'a daily cap': [dailyCap(common), DAY],
  'a session': [sessionWindow({ ...common, idle: '1m' }), MINUTE],
  'a session of a minute': [sessionWindow({ ...common, length: '1m' }), MINUTE],
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

/** Why nothing was done. A settlement before may have moved units. */
async function why(settled: Promise<Settled>): Promise<Settled['why']> {
  const { applied, why: reason, returned, overrun: more } = await settled
  const isBefore = reason === 'settled_before'
  const moved = Object.keys({ ...returned, ...more })
  expect({ applied, moved: isBefore ? [] : moved }).toEqual({ applied: false, moved: [] })
  return reason
}

const overrun = (token: number): Settled => ({ applied: true, returned: {}, overrun: { token } })
const NOTHING: Settled = { applied: true, returned: {}, overrun: {} }

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  describe.each(Object.entries(BUCKETS))('%s', (_, policy) => {
    it('counts use beyond the estimate the same with and without checks in between', async () => {
      const left: number[] = []
      for (const isAsked of [false, true]) {
        const { limiter, clock, take, left: now } = setUpTokens(make(), [policy])
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
    it('counts use beyond the estimate when its key has expired', async () => {
      const { limiter, clock, take, left } = setUpTokens(make(), [policy])
      const decision = await take(10)
      clock.advance(10 * 60 * MINUTE)
      await limiter.reset(ACME)
      expect(await decision.settle({ token: 70 })).toEqual(overrun(60))
      expect(await left()).toBe(40)
    })
    it('gives back no unit that has leaked, and reports it', async () => {
      const { clock, take, left } = setUpTokens(make(), [policy])
      const decision = await take(40)
      clock.advance(3 * 60 * MINUTE)
      expect(await decision.cancel()).toEqual(NOTHING)
      expect(await left()).toBe(100)
    })
  })

  describe.each(Object.entries(WINDOWS))('%s', (_, [policy, windowMs]) => {
    it('charges use beyond the estimate to the current window once its own is over, and reports it', async () => {
      const { clock, take, left } = setUpTokens(make(), [policy])
      const decision = await take(30)
      clock.advance(2 * windowMs)
      expect(await left()).toBe(100)
      expect(await decision.settle({ token: 60 })).toEqual(overrun(30))
      expect(await left()).toBe(70)
      clock.advance(2 * windowMs)
      expect(await left()).toBe(100)
    })
    it('charges use beyond the estimate of the same size while the first charge is still stored', async () => {
      const { clock, take, left } = setUpTokens(make(), [policy])
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
      'gives nothing back after its end, and reports it, with %i later charges',
      async (n) => {
        const { clock, take, left } = setUpTokens(make(), [policy])
        const decision = await take(30)
        clock.advance(2 * windowMs)
        if (n > 0) await take(n)
        expect(await decision.settle({ token: 10 })).toEqual(NOTHING)
        expect(await left()).toBe(100 - n)
      },
    )
  })

  it('a call whose slot has expired gives nothing back', async () => {
    const calls = concurrency({ name: 'p', limit: 2, per: ['tenant'], maxDuration: '30s' })
    const { limiter, clock } = setUpTokens(make(), [calls])
    const call = await mustReserve(limiter, ACME)
    clock.advance(30_000)
    expect(await call.settle({})).toEqual(NOTHING)
  })

  it('a counter that was reset is charged use beyond the estimate in the same segment as in memory', async () => {
    // In memory and in this store: what is left at each moment, while the segments go out one by one.
    const both = await Promise.all(
      [memory(), make()].map(async (store) => {
        const { limiter, clock, take, left } = setUpTokens(store, [counter])
        const decision = await take(30)
        await limiter.reset(ACME)
        clock.advance(10_000)
        await take(20)
        const answers = [await decision.settle({ token: 55 }), await left()]
        for (let time = 0; time < 14; time += 1) {
          clock.advance(5_000)
          answers.push(await left())
        }
        return answers
      }),
    )
    expect(both[1]).toEqual(both[0])
    expect(both[0]?.slice(0, 2)).toEqual([overrun(25), 55])
    expect(both[0]?.at(-1)).toBe(100)
  })

  it('a settlement reports why it did nothing', async () => {
    const { problems, listener } = collectProblems()
    const policies = [slidingWindow({ ...common, window: '1m', routes: ['ai'] })]
    const { limiter, clock } = setUp(policies, { store: make(), extensions: [listener] })
    const ai = { ...ACME, route: 'ai' }
    const options = { cost: { token: 1 }, settleWithin: '10m' } as const
    const elsewhere = await mustReserve(limiter, { ...ACME, route: 'other' }, options)
    expect(await why(elsewhere.cancel())).toBe('nothing_charged')
    const twice = await mustReserve(limiter, ai, options)
    await twice.cancel()
    expect(await why(twice.cancel())).toBe('settled_before')
    const late = await mustReserve(limiter, ai, options)
    // The mark ends at this very moment.
    clock.advance(600_000)
    expect(await why(reservation(limiter, { ...late.toJSON(), id: 'gone' }).cancel())).toBe(
      'too_late',
    )
    const own = (await mustReserve(limiter, ai, options)).toJSON()
    expect(problems).toEqual([])
    const lost = reservation(limiter, { ...own, id: 'unheard0of', madeIn: 'memory' })
    expect(await why(lost.cancel())).toBe('made_elsewhere')
    expect(problems).toMatchObject([{ code: 'reservation_lost' }])
  })
})

const down = (): Store => upstash({ url: 'http://127.0.0.1:9', token: 'none' })

describe('a reservation that was made without the store', () => {
  const policies = [slidingWindow({ ...common, window: '1m' })]

  it('is settled by another limiter of the same process', async () => {
    const first = createLimiter({ store: down(), policies })
    const other = createLimiter({ store: down(), policies })
    const decision = await mustReserve(first, ACME, { cost: { token: 40 } })
    expect(decision.degraded).toMatchObject({ mode: 'local' })
    const done = await reservation(other, JSON.stringify(decision)).settle({ token: 15 })
    const moved = { returned: { token: 25 }, overrun: {} }
    expect(done).toEqual({ applied: true, ...moved, storeFailed: true })
    const { policies: states } = await first.peek(ACME, { cost: { token: 0 } })
    expect(states[0]?.remaining).toBe(85)
  })

  it('is settled after ten thousand others were denied', async () => {
    const limiter = createLimiter({ store: down(), policies })
    const open = await mustReserve(limiter, ACME, { cost: { token: 100 } })
    for (let attempt = 0; attempt < 10_000; attempt += 1) {
      const denied = await reserve(limiter, ACME, { cost: { token: 1 } })
      if (denied.allowed) throw new Error('A reservation beyond the limit was allowed')
    }
    const done = await open.settle({ token: 15 })
    const moved = { returned: { token: 85 }, overrun: {} }
    expect(done).toEqual({ applied: true, ...moved, storeFailed: true })
  })

  it('may be settled if it asked for more than its policy can count', async () => {
    const bucket = tokenBucket({ ...common, limit: 1_000, window: '30d' })
    const limiter = createLimiter({ store: down(), policies: [bucket], onStoreError: 'allow' })
    const call = await mustReserve(limiter, ACME, { cost: { token: 5_000_000 } })
    expect(await call.settle({ token: 5 })).toMatchObject({ why: 'nothing_charged' })
  })
})

it('memory settles a call that lasts longer than ten thousand others', async () => {
  const { limiter } = setUp([slidingWindow({ ...common, window: '1h' })])
  const open = await mustReserve(limiter, ACME, { cost: { token: 50 } })
  for (let attempt = 0; attempt < 10_001; attempt += 1) {
    await (await mustReserve(limiter, ACME, { cost: { token: 50 } })).cancel()
  }
  expect((await open.settle({ token: 15 })).returned).toEqual({ token: 35 })
})
