import { ConfigError, type Extension, type WaitUntil } from '@sluice/core'
import { recordUsage } from '@sluice/usage'

/** The form in which usage names tenants. */
export type TenantIds = 'plain' | 'hashed'

/** Options of `recordSpend`. */
export interface SpendOptions {
  /** With `'hashed'`, rows have neither teams nor users. @default 'plain' */
  readonly tenantIds?: TenantIds
  /** True if the object `home` has the rows, beside all keys: they may take the most of its room, and no more. */
  readonly isInHome?: boolean
  /** Keeps a flush running that follows a settlement. @default nothing does */
  readonly waitUntil?: WaitUntil
}

/** 63 hours and days of 1,200 cells with some 150 characters: 11 of the 16 million that an object holds. */
const IN_HOME = { maxCells: 1_200, keepHours: '1d', keepDays: '35d' } as const

/** Returns the extension that counts requests, tokens and dollars by organisation, team, user, key and model. */
export const recordSpend = ({
  tenantIds = 'plain',
  isInHome = false,
  waitUntil,
}: SpendOptions = {}): Extension =>
  recordUsage({
    ...(isInHome && IN_HOME),
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
