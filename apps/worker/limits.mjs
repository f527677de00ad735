// The limiter of the gateway, for the command `sluice`: over the objects at SLUICE_OBJECTS_URL, or over Redis.
import { env } from 'cloudflare:workers'
import { ConfigError } from '@sluice/core'
import { limiterFor } from './src/limits.ts'
import { tenantIdsIn } from './src/spend/recording.ts'
import { storeOf } from './src/store.ts'

// Here, unlike in the Worker, nobody remembers which of them counts.
if (env.LIMITS && env.UPSTASH_REDIS_REST_URL && !env.STORE) {
  const rule =
    'must be set, because SLUICE_OBJECTS_URL and UPSTASH_REDIS_REST_URL are: name the store that counts'
  throw new ConfigError('invalid_option', 'STORE', rule)
}

export const limiter = limiterFor(storeOf(env).store, {
  tenantIds: tenantIdsIn(env.TENANT_IDS),
})
