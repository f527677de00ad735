import {
  concurrency,
  createLimiter,
  dailyCap,
  leakyBucket,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { reservation, reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { keysUnder, snapshot } from '../../support/redis.ts'
import { ownRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { mustReserve } from './support.ts'

const common = { limit: 100, per: ['tenant'], unit: 'token' } as const
const windows = {
  minute: { limit: 100, window: '1m' },
  hour: { limit: 500, window: '1h' },
} as const
const { limit: _, ...several } = common
const POLICIES: Policy[] = [
  dailyCap({ name: 'daily', ...common }),
  slidingWindow({ name: 'window', window: '1m', ...common }),
  slidingWindows({ name: 'log', windows, ...several }),
  slidingWindowCounter({ name: 'counter', window: '1m', ...common }),
  tokenBucket({ name: 'bucket', window: '1m', ...common }),
  leakyBucket({ name: 'queue', window: '1m', burst: 100, ...common }),
  concurrency({ name: 'calls', limit: 3, per: ['tenant'] }),
]
const COST = { token: 30 }

const own = ownRedis()

const setUp = () => own.setUp(POLICIES)

describe('a reservation in Redis', () => {
  it('is one HTTP request to make and one to settle', async () => {
    const { limiter } = setUp()
    const warm = await mustReserve(limiter, { tenant: 'warm' }, { cost: COST })
    await warm.settle({ token: 1 })
    const before = own.local.requests
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    expect(own.local.requests - before).toBe(1)
    await decision.settle({ token: 10 })
    expect(own.local.requests - before).toBe(2)
  })

  it('leaves an expiry on every key, its mark only until it is settled, and nothing of a call', async () => {
    const { limiter, prefix } = setUp()
    const expiries = async (): Promise<Map<string, number>> => {
      const keys = await keysUnder(own.redis, prefix)
      const pairs = keys.map(
        async (key) => [key.slice(prefix.length + 1), await own.redis.pttl(key)] as const,
      )
      return new Map(await Promise.all(pairs))
    }
    const decision = await mustReserve(limiter, ACME, { cost: COST, settleWithin: '10m' })
    const unsettled = await expiries()
    const marks = [...unsettled].filter(([key]) => key.startsWith('hold:'))
    expect(marks).toHaveLength(1)
    expect(marks[0]?.[1]).toBeGreaterThan(0)
    expect(marks[0]?.[1]).toBeLessThanOrEqual(600_000)
    expect(unsettled.size).toBe(8)
    expect(Math.min(...unsettled.values())).toBeGreaterThan(0)
    await decision.settle({ token: 7 })
    const settled = await expiries()
    expect([...settled.keys()].toSorted()).toEqual(
      [...unsettled.keys()].filter((key) => !/^(hold|calls):/.test(key)).toSorted(),
    )
    expect(Math.min(...settled.values())).toBeGreaterThan(0)
  })

  it('that is denied changes no byte and leaves no mark', async () => {
    const { limiter, prefix } = setUp()
    await reserve(limiter, ACME, { cost: { token: 90 } })
    const before = await snapshot(own.redis, prefix)
    expect(await reserve(limiter, ACME, { cost: COST })).toMatchObject({ allowed: false })
    expect(await snapshot(own.redis, prefix)).toEqual(before)
  })

  it('that is settled after its mark has gone changes no byte', async () => {
    const { limiter, prefix } = setUp()
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    const keys = await keysUnder(own.redis, prefix)
    await own.redis.del(keys.find((key) => key.includes(':hold:')) ?? '')
    const before = await snapshot(own.redis, prefix)
    const done = await decision.settle({ token: 1 })
    expect(done).toEqual({ applied: false, why: 'settled_before', returned: {}, overrun: {} })
    expect(await snapshot(own.redis, prefix)).toEqual(before)
  })

  it('that is cancelled early leaves a window that outlives its other entries', async () => {
    const { limiter, prefix } = setUp()
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    await limiter.check(ACME, { cost: COST })
    const keys = await keysUnder(own.redis, prefix)
    const key = keys.find((name) => name.includes(':window:')) ?? ''
    // As if it had been charged two and a half windows ago.
    await own.redis.pexpire(key, 30_000)
    await decision.cancel()
    expect(await own.redis.pttl(key)).toBeGreaterThan(60_000)
  })

  it('is corrected in its other keys when one of them holds something else', async () => {
    const { limiter, prefix } = setUp()
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    const keys = await keysUnder(own.redis, prefix)
    await own.redis.set(keys.find((name) => name.includes(':window:')) ?? '', 'something else')
    await expect(decision.settle({ token: 1 })).rejects.toMatchObject({ code: 'store_refused' })
    const ends = keys.find((name) => name.includes(':daily:')) ?? ''
    expect(await own.redis.get(ends)).toMatch(/:1$/)
    expect(await own.redis.exists(keys.find((name) => name.includes(':calls:')) ?? '')).toBe(0)
  })

  it('whose reply was lost holds no call in flight once it is settled', async () => {
    const { url, token } = own.local
    let lose = false
    const store = upstash({
      url,
      token,
      prefix: freshPrefix(),
      timeoutMs: 30_000,
      async fetch(target, init) {
        const response = await fetch(target, init)
        if (!lose) return response
        lose = false
        throw new TypeError('The reply is lost')
      },
    })
    const limiter = createLimiter({ store, policies: POLICIES })
    await limiter.peek(ACME, { cost: COST })
    lose = true
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    expect(decision.degraded).toMatchObject({ mode: 'local' })
    const calls = async () => {
      const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
      return policies.find(({ name }) => name === 'calls')?.remaining
    }
    expect(await calls()).toBe(2)
    await decision.settle({ token: 10 })
    expect(await calls()).toBe(3)
  })

  it('reports a settlement that was lost, which may be repeated', async () => {
    const { url, token } = own.local
    const options = { url, token, prefix: freshPrefix(), timeoutMs: 30_000 }
    let lose = false
    const store = upstash({
      ...options,
      async fetch(target, init) {
        const response = await fetch(target, init)
        if (!lose) return response
        lose = false
        throw new TypeError('The reply is lost')
      },
    })
    const limiter = createLimiter({ store, policies: POLICIES })
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    await limiter.peek(ACME, { cost: { token: 0 } })
    // Load the script first: what is lost is the reply to the settling itself.
    const other = await mustReserve(limiter, ACME, { cost: COST })
    await other.cancel()
    lose = true
    await expect(decision.settle({ token: 10 })).rejects.toMatchObject({
      code: 'store_unreachable',
    })
    expect((await decision.settle({ token: 10 })).applied).toBe(false)
    const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
    expect(policies.find(({ name }) => name === 'window')?.remaining).toBe(90)
  })
})

describe('a reservation without the store', () => {
  it('is settled in the same memory', async () => {
    const store = upstash({ url: 'http://127.0.0.1:9', token: 'none' })
    const [policy] = POLICIES as [Policy]
    const limiter = createLimiter({ store, policies: [policy] })
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    expect(decision).toMatchObject({ allowed: true, degraded: { mode: 'local' } })
    expect((await decision.settle({ token: 10 })).returned).toEqual({ token: 20 })
    const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
    expect(policies[0]?.remaining).toBe(90)
  })
  it('has nothing to settle if it was allowed without counting', async () => {
    const store = upstash({ url: 'http://127.0.0.1:9', token: 'none' })
    const limiter = createLimiter({ store, policies: POLICIES, onStoreError: 'allow' })
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    expect(await decision.settle({ token: 1 })).toEqual({
      applied: false,
      why: 'nothing_charged',
      returned: {},
      overrun: {},
    })
  })
})

describe('malformed data of a reservation', () => {
  const store = upstash({ url: 'http://127.0.0.1:9', token: 'none' })
  const limiter = createLimiter({ store, policies: POLICIES })
  const good = { id: 'a1', local: false, settleBy: 0, charges: [] }
  const charge = { policy: 'daily', key: 'k', limit: 1, burst: 1, position: 0, units: 1 }
  it.each([
    undefined,
    null,
    7,
    'no JSON',
    '"text"',
    [],
    {},
    { ...good, id: 'a:b' },
    { ...good, id: 7 },
    { ...good, local: 'yes' },
    { ...good, charges: {} },
    { ...good, charges: [{ ...charge, units: -1 }] },
    { ...good, charges: [{ ...charge, position: 0.5 }] },
    { ...good, charges: [{ ...charge, key: 7 }] },
    { ...good, charges: [null] },
    { ...good, charges: [{ ...charge, units: 10 ** 13 }] },
  ])('%j is refused', (data) => {
    const act = () => reservation(limiter, data)
    expect(act).toThrow(expect.objectContaining({ code: 'invalid_reservation' }))
  })
  it('is refused before anything is sent, such as too many calls', async () => {
    const key = 'calls:slots-300000:tenant=acme'
    const charges = [{ ...charge, policy: 'calls', key, units: 9_000 }]
    await expect(reservation(limiter, { ...good, charges }).cancel()).rejects.toMatchObject({
      code: 'invalid_reservation',
    })
  })
  it.each([
    ['nothing', undefined],
    ['an unknown unit', { yen: 1 }],
    ['half a token', { token: 0.5 }],
    ['less than none', { token: -1 }],
    ['no number', { token: Number.NaN }],
  ])('%s is refused as a settlement', async (_name, actual) => {
    await expect(reservation(limiter, good).settle(actual as never)).rejects.toMatchObject({
      code: 'invalid_cost',
    })
  })
})
