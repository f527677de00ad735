/* The factory `upstash`: a store in Redis, over the Upstash REST protocol. */
import type { Store } from '../store.ts'
import type { RedisStoreOptions } from '../redis/redis-store.ts'
import { ConfigError } from '../../errors.ts'
import { assertFunction, assertKnownOptions } from '../../internal/validation.ts'
import { resolveRedisOptions, redisStore } from '../redis/redis-store.ts'
import { restTransport, type Database, type Fetch } from './rest-transport.ts'

/** The variables that hold the address of a database, in the environment or among a Worker's bindings. */
export interface UpstashEnv {
  readonly UPSTASH_REDIS_REST_URL?: string | undefined
  readonly UPSTASH_REDIS_REST_TOKEN?: string | undefined
}

/** Options of `upstash`. */
export interface UpstashOptions extends RedisStoreOptions {
  /** The REST URL of the database. @default the variable UPSTASH_REDIS_REST_URL of `env` */
  readonly url?: string | undefined
  /** The REST token of the database. @default the variable UPSTASH_REDIS_REST_TOKEN of `env` */
  readonly token?: string | undefined
  /** The bindings of a Worker. Read at the first decision. @default process.env */
  readonly env?: UpstashEnv
  /** The function that sends requests. @default the global `fetch` */
  readonly fetch?: Fetch
}

declare const process: { readonly env?: UpstashEnv } | undefined

/**
 * Creates a store in Redis, over the Upstash REST protocol: one HTTP request per decision, whatever the
 * number of policies. Does no I/O itself, and reads no variable before the first decision, so that a build
 * needs none. To send through your own `@upstash/redis` client, use `upstashRedis` of
 * `@sluice/core/upstash-redis`.
 *
 * @throws ConfigError `invalid_option` when an option is malformed. The first decision throws
 * `missing_credentials` if there is no URL or token.
 * @example
 * const store = upstash() // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN
 * @example
 * const store = upstash({ env }) // in a Worker, whose bindings have these names
 * @example
 * const store = upstash({ url: env.REDIS_URL, token: env.REDIS_TOKEN, timeoutMs: 500 })
 */
export function upstash(options: UpstashOptions = {}): Store {
  assertKnownOptions('upstash', options, ['url', 'token', 'env', 'timeoutMs', 'prefix', 'fetch'])
  const { url, token, env } = options
  if (url) parse('url', url)
  if (token) parse('token', token)
  if (options.fetch !== undefined) assertFunction('upstash.fetch', options.fetch)
  const findDatabase = (): Database => {
    const variables = env ?? (typeof process === 'undefined' ? undefined : process.env)
    return [
      parse('url', url ?? variables?.UPSTASH_REDIS_REST_URL),
      parse('token', token ?? variables?.UPSTASH_REDIS_REST_TOKEN),
    ]
  }
  // Looked up at each call, because tests and instrumentation replace it.
  const send: Fetch = options.fetch ?? ((target, init) => fetch(target, init))
  return redisStore(restTransport(findDatabase, send), ...resolveRedisOptions('upstash', options))
}

const isUrl = (text: string): boolean => /^https?:\/\/[^@]+$/i.test(text) && URL.canParse(text)

/** Returns a part of the address if it is valid, else throws. The error does not contain it. */
function parse(part: 'url' | 'token', value: unknown): string {
  const option = `upstash.${part}`
  if (value === undefined || value === '') {
    const message =
      'is missing; set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, or pass env in a Worker'
    throw new ConfigError('missing_credentials', option, message)
  }
  const isValid = part === 'url' ? isUrl : (text: string) => /^[\x21-\x7e]+$/.test(text)
  if (typeof value === 'string' && isValid(value)) return value
  const rule =
    part === 'url' ? 'an http(s) URL without a user or password' : 'printable ASCII without spaces'
  throw new ConfigError('invalid_option', option, `must be ${rule}`)
}
