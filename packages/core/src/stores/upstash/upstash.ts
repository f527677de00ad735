/* The factory `upstash`, on servers: the calls of one moment share an HTTP request. */
import type { Store } from '../store.ts'
import { assertOptions, invalidOption } from '../../internal/validation.ts'
import { sendTogether } from './pipeline.ts'
import { upstashStore, type UpstashOptions } from './upstash-store.ts'

/**
 * Creates a store in Redis, over the Upstash REST protocol: one HTTP request per decision, whatever the
 * number of policies, and on a server one for all calls of a moment. Does no I/O itself, and reads no variable
 * before the first decision, so that a build needs none. To send through your own `@upstash/redis` client, use
 * `upstashRedis` of `@sluice/core/upstash-redis`.
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
  assertOptions('upstash', options)
  const { fetch: ownFetch, pipeline } = options
  if (typeof (pipeline ?? true) !== 'boolean') {
    throw invalidOption('upstash.pipeline', 'must be true or false', pipeline)
  }
  return upstashStore(options, (pipeline ?? ownFetch === undefined) ? sendTogether : undefined)
}
