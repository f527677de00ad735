import {
  dailyCap,
  fixedWindow,
  leakyBucket,
  manualClock,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { keysUnder } from '../../support/redis.ts'
import { ownRedis } from '../../support/running-redis.ts'
import { DAY, NOON } from '../../support/times.ts'

const per = ['tenant']
const daily = dailyCap({ name: 'daily', limit: 9, per })
const monthly = monthlyCap({ name: 'monthly', limit: 9, per })

const own = ownRedis()

function setUp(policies: readonly Policy[], at?: number) {
  const clock = manualClock(at ?? 0)
  return { ...own.setUp(policies, at === undefined ? {} : { clock }), clock }
}

/** Redis' clock in epoch ms. */
async function redisNow(): Promise<number> {
  const [seconds, micros] = await own.redis.time()
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
}

/** The midnight after a moment. */
const nextMidnight = (at: number): number => (Math.floor(at / DAY) + 1) * DAY

/** Moments, and when the month ends that they are in. */
const MONTH_ENDS: readonly (readonly [string, string])[] = [
  ['2026-01-31T23:59:59.999Z', '2026-02-01'],
  ['2026-01-01T00:00:00.000Z', '2026-02-01'],
  ['2023-02-28T23:59:59.999Z', '2023-03-01'],
  ['2024-02-28T23:59:59.999Z', '2024-03-01'],
  ['2024-02-29T00:00:00.000Z', '2024-03-01'],
  ['2024-02-29T23:59:59.999Z', '2024-03-01'],
  ['2000-02-28T23:59:59.999Z', '2000-03-01'],
  ['2000-02-29T23:59:59.999Z', '2000-03-01'],
  ['2100-02-28T12:00:00.000Z', '2100-03-01'],
  ['2100-02-28T23:59:59.999Z', '2100-03-01'],
  ['2100-03-01T00:00:00.000Z', '2100-04-01'],
  ['2026-04-30T23:59:59.999Z', '2026-05-01'],
  ['2026-12-31T23:59:59.999Z', '2027-01-01'],
  ['2028-12-31T00:00:00.000Z', '2029-01-01'],
  ['1970-01-01T00:00:00.000Z', '1970-02-01'],
]

describe('a calendar cap in Redis', () => {
  it.each(MONTH_ENDS)('at %s, a monthly cap counts until %s', async (at, end) => {
    const { limiter, prefix } = setUp([monthly], Date.parse(at))
    const [state] = (await limiter.check(ACME)).policies
    const left = Date.parse(end) - Date.parse(at)
    expect(state?.resetMs).toBe(left)
    const [key = ''] = await keysUnder(own.redis, prefix)
    const ttl = await own.redis.pttl(key)
    // It outlives the window by a day, as the injected clock is not that of Redis.
    expect(ttl).toBeLessThanOrEqual(left + DAY)
    expect(ttl).toBeGreaterThan(left + DAY - 5_000)
  })

  it.each([
    ['daily', daily],
    ['monthly', monthly],
  ])(
    'of kind %s counts nothing after the last millisecond of its window, even if its key is there',
    async (_kind, policy) => {
      const { limiter, clock, prefix } = setUp([policy], Date.UTC(2026, 0, 31, 23, 59, 59, 999))
      const last = await limiter.check(ACME)
      expect(last).toMatchObject({ allowed: true, policies: [{ resetMs: 1, remaining: 8 }] })
      expect(await keysUnder(own.redis, prefix)).toHaveLength(1)
      clock.advance(1)
      expect(await limiter.check(ACME)).toMatchObject({ policies: [{ remaining: 8 }] })
    },
  )

  it('expires with its window by the clock of Redis, to the millisecond', async () => {
    const { limiter, prefix } = setUp([daily, monthly])
    for (let time = 0; time < 20; time += 1) {
      const before = await redisNow()
      await limiter.check(ACME)
      const after = await redisNow()
      // Over midnight itself there is nothing to compare with.
      if (nextMidnight(before) !== nextMidnight(after)) continue
      const month = new Date(before)
      const ends = [
        nextMidnight(before),
        Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1),
      ]
      const expiries = await Promise.all(
        ['daily', 'monthly'].map(async (name) => {
          const keys = await keysUnder(own.redis, `${prefix}:${name}`)
          return own.redis.pexpiretime(keys[0] ?? '')
        }),
      )
      for (const [index, end] of ends.entries()) {
        expect(expiries[index]).toBe(end)
      }
    }
  })

  it('counts in full to its last millisecond, and from nothing in the next one', async () => {
    const { limiter, clock } = setUp([daily], Date.UTC(2024, 1, 29, 23, 59, 50))
    for (let time = 0; time < 9; time += 1) await limiter.check(ACME)
    clock.set(Date.UTC(2024, 1, 29, 23, 59, 59, 999))
    expect(await limiter.check(ACME)).toMatchObject({
      reason: 'daily_quota_exceeded',
      retryAfterMs: 1,
    })
    clock.advance(1)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, policies: [{ remaining: 8 }] })
  })
})

describe('keys in Redis', () => {
  it('all have a TTL after a long run, of at most three windows and a day, and outlive their entries', async () => {
    const window = 20_000
    const policies = [
      daily,
      monthly,
      slidingWindow({ name: 's', limit: 30, window, per }),
      fixedWindow({ name: 'f', limit: 40, window: '1h', per: ['tenant', 'route'] }),
      slidingWindow({ name: 'g', limit: 300, window: '1m', per: 'global' }),
      slidingWindowCounter({ name: 'c', limit: 30, window, segments: 4, per }),
      tokenBucket({ name: 't', limit: 30, window, per }),
      tokenBucket({ name: 'i', limit: 30, window, refill: 'interval', per }),
      leakyBucket({ name: 'l', limit: 30, window, burst: 30, per }),
      sessionWindow({ name: 'e', limit: 30, idle: window, per }),
      slidingWindows({
        name: 'w',
        windows: { short: { limit: 30, window: 5_000 }, long: { limit: 60, window } },
        per,
      }),
    ]
    const { limiter, clock, prefix } = setUp(policies, NOON)
    let seed = 11
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    for (let step = 0; step < 1_500; step += 1) {
      clock.advance(random(4_000))
      const subject = { tenant: `t${random(4)}`, route: `r${random(2)}` }
      await limiter.check(subject, { cost: random(4) })
      if (step % 50 !== 0) continue
      for (const key of await keysUnder(own.redis, prefix)) {
        expect(await own.redis.pttl(key)).toBeGreaterThan(0)
      }
    }
    for (const name of ['s', 'c', 't', 'i', 'l', 'e', 'w']) {
      const keys = await keysUnder(own.redis, `${prefix}:${name}`)
      expect(keys).toHaveLength(4)
      for (const key of keys)
        expect(await own.redis.pttl(key)).toBeLessThanOrEqual(3 * window + DAY)
    }
  })

  it.each([
    ['t', tokenBucket({ name: 't', limit: 3, window: '50ms', burst: 9, per })],
    ['i', tokenBucket({ name: 'i', limit: 3, window: '50ms', burst: 9, refill: 'interval', per })],
    ['l', leakyBucket({ name: 'l', limit: 3, window: '50ms', burst: 9, per })],
  ])('of the bucket %s live a window longer than their units', async (name, policy) => {
    const { limiter, prefix } = setUp([policy])
    for (let time = 0; time < 60; time += 1) {
      await limiter.check(ACME, { cost: 1 + (time % 4) })
      const [key = ''] = await keysUnder(own.redis, prefix)
      const [value, expiry] = await Promise.all([own.redis.get(key), own.redis.pexpiretime(key)])
      const [used = 0, at = 0] = (value ?? '').slice(1).split(':').map(Number)
      // In an interval, all of a window comes at its end.
      const leaked = name === 'i' ? Math.ceil(used / 150) * 50 : Math.ceil(used / 3)
      expect(expiry < 0 ? at + leaked + 50 : expiry).toBe(at + leaked + 50)
    }
  })

  it('of a counter live a window longer than their newest count matters', async () => {
    const policy = slidingWindowCounter({ name: 'c', limit: 90, window: '60ms', segments: 3, per })
    const { limiter, prefix } = setUp([policy])
    for (let time = 0; time < 60; time += 1) {
      await limiter.check(ACME)
      const [key = ''] = await keysUnder(own.redis, prefix)
      const [value, expiry] = await Promise.all([own.redis.get(key), own.redis.pexpiretime(key)])
      const end = (Number((value ?? '').slice(1).split(':')[0]) + 4) * 20 + 60
      expect(expiry < 0 ? end : expiry).toBe(end)
    }
  })

  it('of a session expire at its end, by the clock of Redis', async () => {
    const { limiter, prefix } = setUp([sessionWindow({ name: 'e', limit: 99, idle: '1m', per })])
    for (let time = 0; time < 20; time += 1) {
      const before = await redisNow()
      await limiter.check(ACME)
      const [key = ''] = await keysUnder(own.redis, prefix)
      const expiry = await own.redis.pexpiretime(key)
      expect(await own.redis.get(key)).toMatch(new RegExp(`^s\\d+:${expiry}:${time + 1}$`))
      expect(expiry).toBeGreaterThanOrEqual(before + 60_000)
      expect(expiry).toBeLessThanOrEqual((await redisNow()) + 60_000)
    }
  })

  it('of a log live until their newest entry has expired, by the clock of Redis', async () => {
    const windows = {
      short: { limit: 500, window: '40ms' },
      long: { limit: 900, window: '160ms' },
    } as const
    const { limiter, prefix } = setUp([slidingWindows({ name: 'w', windows, per })])
    for (let time = 0; time < 400; time += 1) {
      await limiter.check(ACME)
      const [key = ''] = await keysUnder(own.redis, prefix)
      const [[, newest], expiry] = await Promise.all([
        own.redis.zrange(key, -1, -1, 'WITHSCORES') as Promise<[string, string]>,
        own.redis.pexpiretime(key),
      ])
      const life = expiry - Number(newest)
      expect(expiry < 0 ? 160 : life).toBeGreaterThanOrEqual(160)
      expect(expiry).toBeLessThanOrEqual((await redisNow()) + 2 * 160)
    }
  })

  it('of a sliding window live until their newest entry has expired, by the clock of Redis', async () => {
    const window = 120
    const { limiter, prefix } = setUp([
      slidingWindow({ name: 's', limit: 500, window: `${window}ms`, per }),
    ])
    for (let time = 0; time < 400; time += 1) {
      await limiter.check(ACME)
      const [key = ''] = await keysUnder(own.redis, prefix)
      const [[, newest], expiry, [seconds, micros]] = await Promise.all([
        own.redis.zrange(key, -1, -1, 'WITHSCORES') as Promise<[string, string]>,
        own.redis.pexpiretime(key),
        own.redis.time() as unknown as Promise<[string, string]>,
      ])
      // Either the key has been seen to the end, or it stays for a window after its newest entry.
      const life = expiry - Number(newest)
      expect(expiry < 0 ? window : life).toBeGreaterThanOrEqual(window)
      const now = Number(seconds) * 1_000 + Math.ceil(Number(micros) / 1_000)
      expect(expiry).toBeLessThanOrEqual(now + 3 * window)
    }
  })
})
