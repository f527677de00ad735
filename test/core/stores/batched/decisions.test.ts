import { concurrency, createLimiter } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { ownRedisOverHttp } from '../../../support/running-redis.ts'
import { freshPrefix } from '../../../support/stores.ts'
import {
  both,
  causes,
  checks,
  none,
  recordingFetch,
  rpm,
  setUp,
  stopDates,
  type Fetch,
} from './support.ts'

const own = ownRedisOverHttp()

stopDates()

/** The bodies of single checks, without what differs each time. */
const withoutIds = (bodies: readonly string[]): string[] =>
  bodies.map((body) => body.replace(/"\d{13}","own","\w+"/, ''))

describe('batched', () => {
  it('sends what one caller does after another as it is sent without it', async () => {
    const { limiter, bodies, prefix } = await setUp(own, { policies: both })
    const { url, token } = own.local
    const { bodies: alone, send } = recordingFetch()
    const plain = createLimiter({
      store: upstash({ url, token, prefix, timeoutMs: 30_000, fetch: send }),
      policies: both,
    })
    for (const each of [limiter, plain]) {
      await each.check({ tenant: 'acme' })
      await each.peek({ tenant: 'acme' })
    }
    expect(withoutIds(bodies)).toEqual(withoutIds(alone))
  })

  it('decides 32 concurrent checks one by one, in one call', async () => {
    const { limiter, bodies } = await setUp(own)
    const decisions = await checks(limiter, 32, 1)
    expect(bodies).toHaveLength(1)
    expect(causes(decisions)).toEqual(none(32))
    // The first 20, in the order of the checks.
    expect(decisions.map(({ allowed }) => allowed)).toEqual(
      Array.from({ length: 32 }, (_, index) => index < 20),
    )
  })

  it('reads and writes each key once in a call', async () => {
    const { limiter } = await setUp(own, { policies: both })
    await checks(limiter, 8, 8)
    const { calls } = await own.meter.measure(() => checks(limiter, 32, 8))
    expect(Object.fromEntries(calls)).toEqual({
      evalsha: 1,
      time: 1,
      get: 8,
      zrange: 8,
      set: 8,
      zadd: 8,
    })
  })

  it('shares a call between limiters of equal policies over one store, and no other', async () => {
    const { bodies, send } = recordingFetch()
    const { url, token } = own.local
    const store = batched(
      upstash({ url, token, prefix: freshPrefix(), timeoutMs: 30_000, fetch: send }),
    )
    const limiters = [[rpm], [rpm], both].map((policies) => createLimiter({ store, policies }))
    for (const limiter of limiters) await limiter.peek({ tenant: 'warm' })
    await Promise.all(limiters.slice(0, 2).map((limiter) => limiter.peek({ tenant: 'warm' })))
    bodies.length = 0
    const decisions = await Promise.all(limiters.map((limiter) => limiter.check({ tenant: 'a' })))
    expect(bodies).toHaveLength(2)
    expect(decisions.map(({ policies }) => policies.at(-1)?.remaining)).toEqual([19, 18, 17])
  })

  it('makes reservations in one call, each settled by itself', async () => {
    const policies = [...both, concurrency({ name: 'calls', limit: 20, per: ['tenant'] })]
    const { limiter } = await setUp(own, { policies })
    const calls = await Promise.all(
      Array.from({ length: 25 }, () => reserve(limiter, { tenant: 'a' }, { cost: 1 })),
    )
    const open = calls.filter((call) => call.allowed)
    expect(open).toHaveLength(20)
    await Promise.all(open.map((call) => call.settle({ request: 0 })))
    expect(await limiter.peek({ tenant: 'a' }, { cost: 20 })).toMatchObject({ allowed: true })
  })

  it('gives each check its own error', async () => {
    const { limiter, prefix } = await setUp(own)
    await own.redis.set(`${prefix}:rpm:sliding-3600000:tenant=t1`, 'something else')
    const decisions = await checks(limiter, 6, 3)
    const refused = 'store_refused'
    expect(causes(decisions)).toEqual([
      undefined,
      refused,
      undefined,
      undefined,
      refused,
      undefined,
    ])
    expect(decisions.map(({ policies: [state] }) => state?.remaining)).toEqual([
      19, 19, 19, 18, 18, 18,
    ])
  })

  it('gives an error to those whose charges Redis does not write, and to no other', async () => {
    const { limiter } = await setUp(own)
    await checks(limiter, 20, 1)
    await own.redis.config('SET', 'maxmemory', '1')
    try {
      const decisions = await Promise.all(
        ['t0', 'a', 'a', 't0', 'b'].map((tenant) => limiter.check({ tenant })),
      )
      const refused = 'store_refused'
      expect(causes(decisions)).toEqual([undefined, refused, refused, undefined, refused])
      expect([decisions[0]?.allowed, decisions[3]?.allowed]).toEqual([false, false])
    } finally {
      await own.redis.config('SET', 'maxmemory', '0')
    }
  })

  it('gives an error to those who are denied by charges that Redis does not write', async () => {
    const { limiter } = await setUp(own)
    await own.redis.config('SET', 'maxmemory', '1')
    try {
      const decisions = await checks(limiter, 30, 1)
      expect(causes(decisions)).toEqual(Array.from({ length: 30 }, () => 'store_refused'))
    } finally {
      await own.redis.config('SET', 'maxmemory', '0')
    }
  })

  it.each([
    ['a lost reply', () => Promise.reject(new Error('reset')), 'store_unreachable'],
    ['too few replies', () => Promise.resolve(Response.json({ result: [[1]] })), 'store_bad_reply'],
    ['one reply', () => Promise.resolve(Response.json({ result: [1, 1, 1] })), 'store_bad_reply'],
    ['status 500', () => Promise.resolve(new Response('', { status: 500 })), 'store_refused'],
  ] as const)('%s degrades each check, and none is repeated', async (_, fail, cause) => {
    let fails = false
    const answer: Fetch = (url, init) => (fails ? fail() : fetch(url, init))
    const { limiter, bodies } = await setUp(own, { answer })
    fails = true
    expect(causes(await checks(limiter, 3))).toEqual([cause, cause, cause])
    expect(bodies).toHaveLength(1)
  })

  it('aborts a call at the deadline of its checks', async () => {
    let aborts = 0
    let hangs = false
    const answer: Fetch = (url, init) =>
      hangs
        ? new Promise((_, reject) => {
            init.signal.addEventListener('abort', () => {
              aborts += 1
              reject(new Error('aborted'))
            })
          })
        : fetch(url, init)
    const { limiter } = await setUp(own, { answer, timeoutMs: 500 })
    hangs = true
    expect(causes(await checks(limiter, 3))).toEqual(
      Array.from({ length: 3 }, () => 'store_timeout'),
    )
    expect(aborts).toBe(1)
  })
})
