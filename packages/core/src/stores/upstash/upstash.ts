import type { Store } from '../store.ts'
import type { RedisStoreOptions } from './redis-store.ts'
import { ConfigError } from '../../errors.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertName,
  assertPositiveInteger,
} from '../../internal/validation.ts'
import { redisStore } from './redis-store.ts'
import { restTransport, type Fetch } from './transport.ts'

/** Options of `upstash`. */
export interface UpstashOptions extends RedisStoreOptions {
  /** The database's REST address. @default the environment variable UPSTASH_REDIS_REST_URL */
  readonly url?: string
  /** The database's REST token. @default the environment variable UPSTASH_REDIS_REST_TOKEN */
  readonly token?: string
  /** The function to send with. @default the global `fetch` */
  readonly fetch?: Fetch
}

declare const process: { readonly env?: Record<string, string | undefined> } | undefined

/**
 * A store in Redis, over the Upstash REST protocol: one HTTP request per decision, whatever the
 * number of policies. Creating it does no I/O. To send through a client of `@upstash/redis`, see
 * `upstashRedis` of `@sluice/core/upstash-redis`.
 *
 * @throws ConfigError `missing_credentials` when there is no address or token, `invalid_option` when
 * one is malformed.
 * @example
 * const store = upstash() // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN
 * @example
 * const store = upstash({ url: env.REDIS_URL, token: env.REDIS_TOKEN, timeoutMs: 500 })
 */
export function upstash(options: UpstashOptions = {}): Store {
  assertKnownOptions('upstash', options, ['url', 'token', 'timeoutMs', 'prefix', 'fetch'])
  const env = typeof process === 'undefined' ? undefined : process.env
  const url = validUrl(options.url ?? env?.['UPSTASH_REDIS_REST_URL'])
  const token = validToken(options.token ?? env?.['UPSTASH_REDIS_REST_TOKEN'])
  if (options.fetch !== undefined) assertFunction('upstash.fetch', options.fetch)
  // Looked up at each call, because tests and instrumentation replace it.
  const send: Fetch = options.fetch ?? ((target, init) => fetch(target, init))
  return redisStore(restTransport(url, token, send), ...validRedisOptions('upstash', options))
}

/** The deadline and the prefix of a store in Redis. */
export function validRedisOptions(
  factory: string,
  { timeoutMs = 1_000, prefix = 'sluice' }: RedisStoreOptions,
): [timeoutMs: number, prefix: string] {
  return [
    assertPositiveInteger(`${factory}.timeoutMs`, timeoutMs, 60_000),
    assertName(`${factory}.prefix`, prefix),
  ]
}

function missing(option: string, variable: string): ConfigError {
  const message = `is missing; pass it or set ${variable}`
  return new ConfigError('missing_credentials', `upstash.${option}`, message)
}

function validUrl(url: unknown): string {
  if (url === undefined || url === '') throw missing('url', 'UPSTASH_REDIS_REST_URL')
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (parsed && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password) {
    return parsed.href
  }
  const message = 'must be an http(s) URL without a user or password'
  throw new ConfigError('invalid_option', 'upstash.url', message)
}

function validToken(token: unknown): string {
  if (token === undefined || token === '') throw missing('token', 'UPSTASH_REDIS_REST_TOKEN')
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token
  throw new ConfigError('invalid_option', 'upstash.token', 'must be printable ASCII without spaces')
}
