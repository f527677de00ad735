import {
  createLimiter,
  dailyCap,
  slidingWindow,
  type Limiter,
  type OnStoreError,
} from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { Redis as UpstashClient } from '@upstash/redis'
import { freshPrefix } from '../support/stores.ts'

/** A secret that must not stand in any text. */
export const SECRET = 'auth-token-that-nobody-may-see'
export const TENANT = 'tenant-that-nobody-may-see'

export const subject = { tenant: TENANT, route: 'evaluate' }

export const TRANSPORTS = ['the built-in transport', 'the @upstash/redis client'] as const
export type TransportName = (typeof TRANSPORTS)[number]

export const MODES = ['local', 'allow', 'deny'] as const

/** A limiter of 20 a minute and 1,000 a day over whatever answers at `url`. */
export function limiterAt(
  url: string,
  transport: TransportName,
  onStoreError: OnStoreError,
  {
    timeoutMs = 30_000,
    token = SECRET,
    prefix = freshPrefix(),
  }: { timeoutMs?: number; token?: string; prefix?: string } = {},
): Limiter {
  const options = { timeoutMs, prefix }
  const store =
    transport === 'the built-in transport'
      ? upstash({ url, token, ...options })
      : upstashRedis(new UpstashClient({ url, token }), options)
  return createLimiter({
    store,
    onStoreError,
    policies: [
      dailyCap({ name: 'daily', limit: 1_000, per: ['tenant'] }),
      slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] }),
    ],
  })
}
