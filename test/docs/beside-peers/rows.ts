import { dailyCap } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { MemoryStore, type Store } from 'express-rate-limit'
import { Redis as Client } from 'ioredis'
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible'
import { freshPrefix } from '../../support/stores.ts'
import { BROKEN } from '../coming-from/page.ts'
import {
  askInTurn,
  counted,
  countsDenied,
  isEnough,
  kilobytes,
  outcomes,
  worstMinute,
  yesNo,
} from './measures.ts'
import {
  askExpress,
  askFlexible,
  askOurs,
  askUpstash,
  CLIENT,
  express,
  flexible,
  flexibleRedis,
  minute,
  ours,
  own,
  upstashOf,
} from './peers.ts'

/** The packages of the columns, in their order. */
export const PEERS = ['@upstash/ratelimit', 'express-rate-limit', 'rate-limiter-flexible'] as const

type Probe = () => Promise<string>

/** Where each request counts as one. */
const noCosts: Probe = async () => '–'

/** The probes of each row by its label: ours, and those of `PEERS`. Each returns the text of its cell. */
export const ROWS: Readonly<Record<string, readonly Probe[]>> = {
  'the most that pass within a minute, at 100 a minute': [
    () => worstMinute(askOurs(ours([minute(100)]))),
    () => worstMinute(askUpstash(upstashOf(Ratelimit.slidingWindow(100, '60 s')))),
    () => worstMinute(askExpress(express(100))),
    () => worstMinute(askFlexible(flexible(100))),
  ],
  'is a denied request counted?': [
    () => countsDenied(askOurs(ours([minute(10)]))),
    () => countsDenied(askUpstash(upstashOf(Ratelimit.slidingWindow(10, '60 s')))),
    async () => {
      const store = new MemoryStore()
      const ask = askExpress(express(1, { store }))
      for (const _ of [1, 2]) await ask()
      return yesNo((await store.get(CLIENT))?.totalHits === 2)
    },
    () => countsDenied(askFlexible(flexible(10))),
  ],
  "does a request that the minute's limit denies count for the day?": [
    async () => {
      const limiter = ours([dailyCap({ name: 'day', limit: 500, per: ['tenant'] }), minute(1)])
      for (const _ of [1, 2]) await askOurs(limiter)()
      return yesNo((await limiter.peek({ tenant: 'acme' })).policies[0]?.remaining !== 499)
    },
    async () => {
      const day = upstashOf(Ratelimit.fixedWindow(500, '1 d'))
      await askInTurn(askUpstash(day), askUpstash(upstashOf(Ratelimit.slidingWindow(1, '60 s'))))
      return yesNo((await day.getRemaining('acme')).remaining !== 499)
    },
    async () => {
      const store = new MemoryStore()
      await askInTurn(askExpress(express(500, { store })), askExpress(express(1)))
      return yesNo((await store.get(CLIENT))?.totalHits !== 1)
    },
    async () => {
      const day = flexible(500)
      const union = new RateLimiterUnion(day, flexible(1))
      for (const _ of [1, 2]) await union.consume('acme').catch(() => {})
      return yesNo((await day.get('acme'))?.consumedPoints !== 1)
    },
  ],
  'calls of the store for a request with three limits': [
    async () => {
      const policies = Array.from('abc', (name) => minute(10, name))
      const ask = askOurs(ours(policies, { store: storeOnRedis() }))
      // The first one loads the script.
      await ask()
      const calls = counted(globalThis, 'fetch')
      await ask()
      return String(calls())
    },
    async () => {
      const asks = Array.from('abc', () =>
        askUpstash(upstashOf(Ratelimit.slidingWindow(10, '60 s'))),
      )
      for (const ask of asks) await ask()
      const calls = counted(globalThis, 'fetch')
      for (const ask of asks) await ask()
      return String(calls())
    },
    async () => {
      const stores = Array.from('abc', () => new MemoryStore())
      const calls = stores.map((store) => counted(store, 'increment'))
      for (const store of stores) await askExpress(express(10, { store }))()
      return String(calls.filter((count) => count() === 1).length)
    },
    async () => {
      const limiters = Array.from('abc', () => flexibleRedis(10))
      const calls = limiters.map((limiter) => counted(limiter, 'consume'))
      await new RateLimiterUnion(...limiters).consume('acme')
      return String(calls.filter((count) => count() === 1).length)
    },
  ],
  'is the wait that a denial tells enough?': [
    async () => {
      const limiter = ours([minute(10)])
      const wait = async () => (await limiter.check({ tenant: 'acme' })).retryAfterMs ?? 0
      return isEnough(askOurs(limiter), wait)
    },
    async () => {
      const limiter = upstashOf(Ratelimit.slidingWindow(10, '60 s'))
      const wait = async () => (await limiter.limit('acme')).reset - Date.now()
      return isEnough(askUpstash(limiter), wait)
    },
    async () => {
      const store = new MemoryStore()
      const wait = async () => Number((await store.get(CLIENT))?.resetTime) - Date.now()
      return isEnough(askExpress(express(10, { store })), wait)
    },
    async () => {
      const limiter = flexible(10)
      const wait = async () => (await limiter.get('acme'))?.msBeforeNext ?? 0
      return isEnough(askFlexible(limiter), wait)
    },
  ],
  'does a denial say that a cost can never fit?': [
    async () => {
      const { retryAfterMs } = await ours([minute(10)]).check({ tenant: 'acme' }, { cost: 11 })
      return yesNo(retryAfterMs === null)
    },
    async () => {
      const told = await upstashOf(Ratelimit.slidingWindow(10, '60 s')).limit('acme', { rate: 11 })
      return yesNo(told.success || !Number.isFinite(told.reset))
    },
    noCosts,
    async () => {
      const told: unknown = await flexible(10)
        .consume('acme', 11)
        .catch((rejected: unknown) => rejected)
      return yesNo(!Number.isFinite((told as { msBeforeNext: number }).msBeforeNext))
    },
  ],
  'units given back if a use of 3 less is reported twice': [
    async () => {
      const limiter = ours([minute(10)])
      const call = await reserve(limiter, { tenant: 'acme' }, { cost: 9 })
      for (const _ of [1, 2]) if (call.allowed) await call.settle(6)
      return String((await limiter.peek({ tenant: 'acme' })).policies[0]!.remaining - 1)
    },
    async () => {
      const limiter = upstashOf(Ratelimit.slidingWindow(10, '60 s'))
      for (const rate of [9, -3, -3]) await limiter.limit('acme', { rate })
      return String((await limiter.getRemaining('acme')).remaining - 1)
    },
    noCosts,
    async () => {
      const limiter = flexible(10)
      await limiter.consume('acme', 9)
      for (const _ of [1, 2]) await limiter.reward('acme', 3)
      return String(((await limiter.get('acme'))?.remainingPoints ?? 0) - 1)
    },
  ],
  'while Redis is down, a request is': [
    () =>
      outcomes(
        (['allow', 'deny', 'local'] as const).map((onStoreError) =>
          askOurs(ours([minute(10)], { store: BROKEN, onStoreError })),
        ),
      ),
    () => outcomes([askUpstash(upstashOf(Ratelimit.slidingWindow(10, '60 s'), new Redis(CLOSED)))]),
    () =>
      outcomes(
        [true, false].map((passOnStoreError) =>
          askExpress(express(10, { store: FAILING, passOnStoreError })),
        ),
      ),
    () =>
      outcomes(
        [{ insuranceLimiter: flexible(10) }, {}].map((insurance) => {
          const storeClient = new Client(1, {
            enableOfflineQueue: false,
            retryStrategy: () => null,
          })
          storeClient.on('error', () => {})
          const terms = { points: 10, duration: 60, ...insurance }
          return askFlexible(new RateLimiterRedis({ storeClient, ...terms }))
        }),
      ),
  ],
  'its code for the edge, gzipped': [
    () => kilobytes(["{ createLimiter, slidingWindow } from '@sluice/core'", UPSTASH]),
    () => kilobytes(["{ Ratelimit } from '@upstash/ratelimit'", CLIENT_OF_UPSTASH]),
    () => kilobytes(["{ rateLimit } from 'express-rate-limit'"]),
    () => kilobytes(["{ RateLimiterRedis } from 'rate-limiter-flexible'"]),
  ],
}

const UPSTASH = "{ upstash } from '@sluice/core/upstash'"
const CLIENT_OF_UPSTASH = "{ Redis } from '@upstash/redis/cloudflare'"
/** A database where nothing listens. */
const CLOSED = { url: 'http://127.0.0.1:1', token: 'token', retry: false } as const
const FAILING: Store = {
  increment: () => Promise.reject(new Error('down')),
  decrement: () => {},
  resetKey: () => {},
}

const storeOnRedis = () =>
  upstash({ url: own.local.url, token: own.local.token, prefix: freshPrefix(), timeoutMs: 30_000 })
