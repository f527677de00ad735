/* The factory `upstash`: a store in Redis, over the Upstash REST protocol. */
import type { Store } from '../store.ts'
import type { RedisStoreOptions } from '../redis/redis-store.ts'
import { ConfigError } from '../../errors.ts'
import { assertFunction, assertKnownOptions } from '../../internal/validation.ts'
import { resolveRedisOptions, redisStore } from '../redis/redis-store.ts'
import { restTransport, type Fetch } from './rest-transport.ts'

/** Options of `upstash`. */
export interface UpstashOptions extends RedisStoreOptions {
  /** The REST URL of the database. @default the environment variable UPSTASH_REDIS_REST_URL */
  readonly url?: string
  /** The REST token of the database. @default the environment variable UPSTASH_REDIS_REST_TOKEN */
  readonly token?: string
  /** The function that sends requests. @default the global `fetch` */
  readonly fetch?: Fetch
}

declare const process: { readonly env?: Record<string, string | undefined> } | undefined

/**
 * Creates a store in Redis, over the Upstash REST protocol: one HTTP request per decision, whatever the
 * number of policies. Does no I/O itself. To send through your own `@upstash/redis` client, use
 * `upstashRedis` of `@sluice/core/upstash-redis`.
 *
 * @throws ConfigError `missing_credentials` without a URL or token; `invalid_option` when an option is
 * malformed.
 * @example
 * const store = upstash() // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN
 * @example
 * const store = upstash({ url: env.REDIS_URL, token: env.REDIS_TOKEN, timeoutMs: 500 })
 */
export function upstash(options: UpstashOptions = {}): Store {
  assertKnownOptions('upstash', options, ['url', 'token', 'timeoutMs', 'prefix', 'fetch'])
  const env = typeof process === 'undefined' ? undefined : process.env
  const url = parseUrl(options.url ?? env?.['UPSTASH_REDIS_REST_URL'])
  const token = parseToken(options.token ?? env?.['UPSTASH_REDIS_REST_TOKEN'])
  if (options.fetch !== undefined) assertFunction('upstash.fetch', options.fetch)
  // Looked up at each call, because tests and instrumentation replace it.
  const send: Fetch = options.fetch ?? ((target, init) => fetch(target, init))
  return redisStore(restTransport(url, token, send), ...resolveRedisOptions('upstash', options))
}

function missing(option: string, variable: string): ConfigError {
  const message = `is missing; pass it or set ${variable}`
  return new ConfigError('missing_credentials', `upstash.${option}`, message)
}

function parseUrl(url: unknown): string {
  if (url === undefined || url === '') throw missing('url', 'UPSTASH_REDIS_REST_URL')
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (parsed && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password) {
    return parsed.href
  }
  const message = 'must be an http(s) URL without a user or password'
  throw new ConfigError('invalid_option', 'upstash.url', message)
}

function parseToken(token: unknown): string {
  if (token === undefined || token === '') throw missing('token', 'UPSTASH_REDIS_REST_TOKEN')
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token
  throw new ConfigError('invalid_option', 'upstash.token', 'must be printable ASCII without spaces')
}
