/* A store in Redis over the Upstash REST protocol, whatever sends its commands. */
import type { Store } from '../store.ts'
import { ConfigError } from '../../errors.ts'
import { assertFunction, assertKnownOptions, invalidOption } from '../../internal/validation.ts'
import { resolveRedisOptions, redisStore, type RedisStoreOptions } from '../redis/redis-store.ts'
import { restTransport, type Database, type Fetch, type Sender } from './rest-transport.ts'

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
  /**
   * True: on a server, the calls of one moment share an HTTP request, through a `fetch` of your own, too. False: each
   * is sent by itself. In Cloudflare Workers and edge runtimes, each always is.
   * @default true, unless `fetch` is given
   */
  readonly pipeline?: boolean
}

/** The global `fetch`, looked up at each call, because tests and instrumentation replace it. */
export const globalFetch: Fetch = (target, init) => fetch(target, init)

const KNOWN = ['url', 'token', 'env', 'timeoutMs', 'prefix', 'fetch', 'pipeline']

declare const process: { readonly env?: UpstashEnv } | undefined

/**
 * Creates a store in Redis, over the Upstash REST protocol.
 *
 * @param sender Sends commands in shared requests. @default a request for each
 * @throws ConfigError `invalid_option` when an option is malformed.
 */
export function upstashStore(options: UpstashOptions = {}, sender?: Sender): Store {
  assertKnownOptions('upstash', options, KNOWN)
  const { url, token, env, fetch: send = globalFetch } = options
  if (url) parse('url', url)
  if (token) parse('token', token)
  assertFunction('upstash.fetch', send)
  const findDatabase = (): Database => {
    const variables = env ?? (typeof process === 'undefined' ? undefined : process.env)
    return [
      parse('url', url ?? variables?.UPSTASH_REDIS_REST_URL),
      parse('token', token ?? variables?.UPSTASH_REDIS_REST_TOKEN),
    ]
  }
  const transport = restTransport(findDatabase, send, sender)
  return redisStore(transport, ...resolveRedisOptions('upstash', options))
}

/** Returns a part of the address if it is valid, else throws. The error does not contain it. */
function parse(part: 'url' | 'token', value: unknown): string {
  const option = `upstash.${part}`
  if (!value) {
    const message =
      'is missing; set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, or pass env in a Worker'
    throw new ConfigError('missing_credentials', option, message)
  }
  const [shape, rule] =
    part === 'url'
      ? [/^https?:\/\/[^@]+$/i, 'an http(s) URL without a user or password']
      : [/^[\x21-\x7e]+$/, 'printable ASCII without spaces']
  const isValid = typeof value === 'string' && shape.test(value)
  if (isValid && (part === 'token' || URL.canParse(value))) return value
  throw invalidOption(option, `must be ${rule}`)
}
