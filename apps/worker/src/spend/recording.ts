import { ConfigError, type Extension, type WaitUntil } from '@sluice/core'
import { recordUsage } from '@sluice/usage'

/** The form in which usage names tenants. */
export type TenantIds = 'plain' | 'hashed'

/** Options of `recordSpend`. */
export interface SpendOptions {
  /** With `'hashed'`, rows have neither teams nor users. @default 'plain' */
  readonly tenantIds?: TenantIds
  /** Keeps a flush running that follows a settlement. @default nothing does */
  readonly waitUntil?: WaitUntil
}

/** Returns the extension that counts requests, tokens and dollars by organisation, team, user, key and model. */
export const recordSpend = ({ tenantIds = 'plain', waitUntil }: SpendOptions = {}): Extension =>
  recordUsage({
    tenants: tenantIds,
    // A flush is a row of `home`, and each isolate has its own.
    flushEvery: '15s',
    dimensions: tenantIds === 'plain' ? ['team', 'user', 'key'] : ['key'],
    ...(waitUntil && { waitUntil }),
  })

/** Reads the setting. @throws ConfigError When it has another value. */
export function tenantIdsIn(value: string | undefined): TenantIds {
  if (!value) return 'plain'
  if (value === 'plain' || value === 'hashed') return value
  throw new ConfigError('invalid_option', 'TENANT_IDS', 'must be "plain" or "hashed"')
}
