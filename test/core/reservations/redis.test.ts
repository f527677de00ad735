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
import { fitRange, reservation, reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
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

/** A limiter of which one reply or request is lost on demand, and what is left of its policies in Redis. */
async function losing(onStoreError: 'local' | 'allow' | 'deny') {
  const { url, token } = own.local
  let lose: 'request' | 'reply' | undefined
  const store = upstash({
    url,
    token,
    prefix: freshPrefix(),
    timeoutMs: 30_000,
    async fetch(target, init) {
      const lost = lose
      lose = undefined
      if (lost === 'request') throw new TypeError('The request is lost')
      const response = await fetch(target, init)
      if (lost === undefined) return response
      throw new TypeError('The reply is lost')
    },
  })
  const limiter = createLimiter({ store, policies: POLICIES, onStoreError })
  await limiter.peek(ACME, { cost: COST })
  return {
    limiter,
    loseNext: (what: 'request' | 'reply' = 'reply') => void (lose = what),
    left: async () => remaining(await limiter.peek(ACME, { cost: { token: 0 } })),
  }
}

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

  it('leaves an expiry on every key, its mark for a minute once it is settled, and nothing of a call', async () => {
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
      [...unsettled.keys()].filter((key) => !key.startsWith('calls:')).toSorted(),
    )
    expect(settled.get(marks[0]?.[0] ?? '')).toBeLessThanOrEqual(60_000)
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

  const FULL = { daily: 100, window: 100, calls: 3 }

  it.each(['local', 'allow'] as const)(
    'whose reply was lost is corrected in the store, with onStoreError %s',
    async (onStoreError) => {
      const { limiter, loseNext, left } = await losing(onStoreError)
      expect(await left()).toMatchObject(FULL)
      loseNext()
      const decision = await mustReserve(limiter, ACME, { cost: COST })
      expect(decision.degraded).toMatchObject({ mode: onStoreError })
      expect(await left()).toMatchObject({ daily: 70, window: 70, calls: 2 })
      expect(await decision.settle({ token: 10 })).toMatchObject({ returned: { token: 20 } })
      expect(await left()).toMatchObject({ daily: 90, window: 90, calls: 3 })
      expect(await decision.settle({ token: 10 })).toMatchObject({
        why: 'settled_before',
        returned: { token: 20 },
      })
    },
  )

  it.each(['local', 'allow'] as const)(
    'whose reply was lost tells that settling failed, too, and may be repeated, with onStoreError %s',
    async (onStoreError) => {
      const { limiter, loseNext, left } = await losing(onStoreError)
      loseNext()
      const decision = await mustReserve(limiter, ACME, { cost: COST })
      loseNext('request')
      expect(await decision.settle({ token: 10 })).toMatchObject({ storeFailed: true })
      expect(await left()).toMatchObject({ daily: 70, window: 70, calls: 2 })
      const repeated = await decision.settle({ token: 10 })
      expect(repeated).toMatchObject({ applied: true, returned: { token: 20 } })
      expect(repeated.storeFailed).toBeUndefined()
      expect(await left()).toMatchObject({ daily: 90, window: 90, calls: 3 })
    },
  )

  it('whose reply was lost is corrected by what the store has granted', async () => {
    const { limiter, loseNext, left } = await losing('allow')
    const fit = fitRange({ floor: 1, most: 500, rates: { token: 1_000_000 } })
    await mustReserve(limiter, { tenant: 'warm' }, { cost: { token: 10 }, fit })
    loseNext()
    const decision = await mustReserve(limiter, ACME, { cost: { token: 10 }, fit })
    // It was told the most, but the store had room for 90.
    expect(decision).toMatchObject({ granted: 500 })
    expect(await left()).toMatchObject({ daily: 0, window: 0 })
    await decision.settle({ token: 25 })
    expect(await left()).toMatchObject({ daily: 75, window: 75, calls: 3 })
  })

  it('whose reply was lost keeps the most, which its caller was granted, if nothing is reported', async () => {
    const { limiter, loseNext, left } = await losing('allow')
    const fit = fitRange({ floor: 1, most: 70, rates: { token: 1_000_000 } })
    await mustReserve(limiter, { tenant: 'warm' }, { cost: { token: 10 }, fit })
    loseNext()
    const decision = await mustReserve(limiter, ACME, { cost: { token: 10 }, fit })
    expect(decision).toMatchObject({ granted: 70, degraded: { mode: 'allow' } })
    await decision.settle({})
    expect(await left()).toMatchObject({ daily: 20, window: 20 })
  })

  it('that was denied because its reply was lost charges nothing', async () => {
    const { limiter, loseNext, left } = await losing('deny')
    const works: Promise<unknown>[] = []
    loseNext()
    const waitUntil = (work: Promise<unknown>): void => void works.push(work)
    const denied = await reserve(limiter, ACME, { cost: COST, waitUntil })
    expect(denied).toMatchObject({ allowed: false, reason: 'store_unavailable' })
    await Promise.all(works)
    expect(works).toHaveLength(1)
    expect(await left()).toMatchObject(FULL)
  })

  it('reports a settlement that was lost, which may be repeated', async () => {
    const { limiter, loseNext, left } = await losing('local')
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    // Load the script first: what is lost is the reply to the settling itself.
    const other = await mustReserve(limiter, ACME, { cost: COST })
    await other.cancel()
    loseNext()
    await expect(decision.settle({ token: 10 })).rejects.toMatchObject({
      code: 'store_unreachable',
    })
    expect(await decision.settle({ token: 10 })).toMatchObject({
      why: 'settled_before',
      returned: { token: 20 },
    })
    expect(await left()).toMatchObject({ window: 90 })
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
      storeFailed: true,
    })
  })
})

describe('malformed data of a reservation', () => {
  const store = upstash({ url: 'http://127.0.0.1:9', token: 'none' })
  const limiter = createLimiter({ store, policies: POLICIES })
  const good = { id: 'a1', madeIn: 'store', settleBy: 0, charges: [] }
  const charge = { policy: 'daily', key: 'k', limit: 1, burst: 1, index: 0, units: 1 }
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
    { ...good, madeIn: 'heaven' },
    { ...good, charges: {} },
    { ...good, charges: [{ ...charge, units: -1 }] },
    { ...good, charges: [{ ...charge, index: 0.5 }] },
    { ...good, charges: [{ ...charge, key: 7 }] },
    { ...good, charges: [null] },
    { ...good, charges: [{ ...charge, units: 10 ** 13 }] },
    { ...good, origin: null },
    { ...good, origin: { subject: {}, at: 0 } },
    { ...good, origin: { subject: null, at: 0, limits: {} } },
    { ...good, origin: { subject: {}, at: 'now', limits: {} } },
    { ...good, origin: { subject: {}, at: 0, limits: {}, plan: 7 } },
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
