import { type LimiterOptions, createLimiter, slidingWindow, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { rateLimit, type Options, type RateLimitRequestHandler } from 'express-rate-limit'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'

/** Asks for a request, and returns true if it may pass. */
export type Ask = (cost?: number) => Promise<boolean>

export const MINUTE = 60_000
export const own = ownRedisOverHttp()

export const minute = (limit: number, name = 'minute') =>
  slidingWindow({ name, limit, window: '1m', per: ['tenant'] })

/** A limiter of ours in memory, or with these options. */
export function ours(policies: LimiterOptions['policies'], options: object = {}): Limiter {
  return createLimiter({ store: memory(), policies, ...options })
}

export const askOurs =
  (limiter: Limiter): Ask =>
  async (cost = 1) =>
    (await limiter.check({ tenant: 'acme' }, { cost })).allowed

/** A limiter of `@upstash/ratelimit` on a real Redis. */
export function upstashOf(
  limiter: ConstructorParameters<typeof Ratelimit>[0]['limiter'],
  redis = new Redis({ url: own.local.url, token: own.local.token }),
): Ratelimit {
  return new Ratelimit({ redis, limiter, prefix: freshPrefix(), ephemeralCache: false })
}

export const askUpstash =
  (limiter: Ratelimit): Ask =>
  async (cost = 1) =>
    (await limiter.limit('acme', { rate: cost })).success

/** Middleware of `express-rate-limit`, with a store in memory or with these options. */
export const express = (limit: number, options: Partial<Options> = {}): RateLimitRequestHandler =>
  rateLimit({ windowMs: MINUTE, limit, validate: false, ...options })

/** The client of the requests that `askExpress` sends. */
export const CLIENT = '192.0.2.7'

export const askExpress =
  (handler: RateLimitRequestHandler): Ask =>
  () =>
    new Promise((resolve, reject) => {
      const request = { ip: CLIENT, app: { get: () => false }, headers: {} }
      const response = {
        setHeader: () => response,
        status: () => response,
        send: () => resolve(false),
      }
      void handler(request as never, response as never, (error?: unknown) => {
        if (error === undefined) resolve(true)
        else reject(error)
      })
    })

/** A limiter of `rate-limiter-flexible` in memory. */
export const flexible = (points: number): RateLimiterMemory =>
  new RateLimiterMemory({ points, duration: 60, keyPrefix: freshPrefix() })

/** … and one on a real Redis. */
export const flexibleRedis = (points: number): RateLimiterRedis =>
  new RateLimiterRedis({ storeClient: own.redis, points, duration: 60, keyPrefix: freshPrefix() })

export const askFlexible =
  (limiter: RateLimiterAbstract): Ask =>
  async (cost = 1) => {
    try {
      await limiter.consume('acme', cost)
      return true
    } catch (rejected) {
      if (rejected instanceof Error) throw rejected
      return false
    }
  }
