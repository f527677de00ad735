import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import type { RestAddress } from '../servers/servers.ts'
import { AMPLE } from '../limits.ts'

type Options = ConstructorParameters<typeof Ratelimit>[0]

/**
 * An `@upstash/ratelimit` limiter without analytics, which our limiter does not have. `cache` is its
 * memory of denials, on by default there and off here.
 */
export const peerLimiter = (
  redis: Options['redis'],
  limiter: Options['limiter'],
  prefix: string,
  { cache = false } = {},
): Ratelimit =>
  new Ratelimit({
    redis,
    limiter,
    prefix,
    ephemeralCache: cache ? new Map() : false,
    analytics: false,
  })

/** The same limits as `hourly`, `daily` and a token bucket of an hour. */
export const peerWindow = (limit = AMPLE): Options['limiter'] =>
  Ratelimit.slidingWindow(limit, '1 h')
export const peerDaily = (limit = AMPLE): Options['limiter'] => Ratelimit.fixedWindow(limit, '1 d')
export const peerBucket = (limit = AMPLE): Options['limiter'] =>
  Ratelimit.tokenBucket(limit, '1 h', limit)

/** The peer's client. `pipelined`, its default, sends all commands of one tick in one request. */
export const peerClient = ({ url, token }: RestAddress, pipelined = true): Redis =>
  new Redis({ url, token, enableAutoPipelining: pipelined })
