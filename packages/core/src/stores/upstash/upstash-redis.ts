/* The factory `upstashRedis`: a store in Redis, through your own client of `@upstash/redis`. */
import { StoreError } from '../../errors.ts'
import { assertKnownOptions, invalidOption } from '../../internal/validation.ts'
import { resolveRedisOptions, redisStore, type RedisStoreOptions } from '../redis/redis-store.ts'
import { RedisError, type Command, type Transport } from '../redis/transport.ts'
import { badReply, type Store } from '../store.ts'
import { unauthorized } from './rest-transport.ts'

/** Options of `upstashRedis`. */
export type UpstashRedisOptions = RedisStoreOptions

/**
 * Creates a store in Redis that sends through your own client of `@upstash/redis`, with one attempt per
 * call and aborts that take effect. The client itself is not changed.
 *
 * @throws ConfigError When `redis` is not such a client, or an option is unknown or malformed.
 * @example
 * const store = upstashRedis(Redis.fromEnv(), { timeoutMs: 500 })
 */
export function upstashRedis(redis: object, options: UpstashRedisOptions = {}): Store {
  assertKnownOptions('upstashRedis', options, ['timeoutMs', 'prefix'])
  return redisStore(clientTransport(redis), ...resolveRedisOptions('upstashRedis', options))
}

/** The internal HTTP client of an `@upstash/redis` client. */
interface RestClient {
  request(request: { body: Command; signal: () => AbortSignal }): Promise<{ result?: unknown }>
  retry: unknown
}

/**
 * Sends through a view of the client's HTTP client, with two differences. It makes one attempt: the client
 * makes up to six, and each may be charged. And its signal is a function: the client turns the abort of a
 * signal object into an ordinary answer.
 */
function clientTransport(redis: unknown): Transport {
  const http = (redis as { client?: unknown } | null)?.client
  if (!isRestClient(http)) {
    const message =
      'must be a Redis instance of @upstash/redis (tested with 1.39); or use upstash({ url, token })'
    throw invalidOption('upstashRedis.redis', message)
  }
  const view = Object.create(http, {
    retry: { value: { attempts: 0, backoff: () => 0 } },
  }) as RestClient
  return async (body, signal) => {
    try {
      const { result } = await view.request({ body, signal: () => signal })
      return result
    } catch (error) {
      throw storeErrorOf(error)
    }
  }
}

function isRestClient(http: unknown): http is RestClient {
  const { request, retry } = (http ?? {}) as Partial<RestClient>
  return typeof request === 'function' && typeof retry === 'object'
}

// The client's error texts contain the whole command, so only their kind is passed on.
function storeErrorOf(error: unknown): Error {
  const name = error instanceof Error ? error.name : ''
  if (name === 'UpstashError') {
    const { message } = error as Error
    return /^(WRONGPASS|Unauthorized)/.test(message) ? unauthorized() : new RedisError(message)
  }
  if (name === 'UpstashJSONParseError') return badReply()
  return new StoreError('store_unreachable', 'The store cannot be reached')
}
