import { invalidOption } from '@sluice/core/internal'
import type { Limiter } from '@sluice/core'
import { removeCounters } from '../counters/remove-counters.ts'
import { PERIOD_MS, periodKey } from '../hours.ts'
import type { StoredPeriod } from '../rows.ts'
import { usageHandle } from './record-usage.ts'
import { tenantNames } from './tenant-names.ts'

/**
 * Removes all that is recorded of these tenants, such as when a customer asks for it. Limits stay as they are: see
 * `limiter.reset`. Other processes save what they have counted with their next flush: call it again afterwards.
 *
 * @param tenants Their ids, also if hashes are stored.
 * @throws ConfigError When the limiter has no `recordUsage`, or `tenants` is not a list of ids.
 * @throws StoreError When the store fails. Call it again.
 * @example
 * await forgetUsage(limiter, ['acme'])
 */
export async function forgetUsage(limiter: Limiter, tenants: readonly string[]): Promise<void> {
  assertIds(tenants)
  const handle = usageHandle(limiter)
  await handle.flush()
  const { records, clock, keptMs } = handle
  const now = clock()
  const keys = [...keysAt('hour', keptMs.hour, now), ...keysAt('day', keptMs.day, now)]
  const names = await tenantNames(tenants, handle.tenants)
  await removeCounters(records, keys, [...names.values()].map(startOf), now)
}

/** Returns the keys of the hours or days that may exist at `now`, and one more on either side: clocks differ. */
function keysAt(by: StoredPeriod, keptMs: number, now: number): string[] {
  const length = PERIOD_MS[by]
  const next = now - (now % length) + length
  const count = Math.ceil(keptMs / length) + 3
  return Array.from({ length: count }, (_, index) => periodKey(by, next - index * length))
}

/** Returns the start of the names of a tenant's cells, after their family: `["acme",`. */
const startOf = (tenant: string): string => `${JSON.stringify([tenant]).slice(0, -1)},`

const isId = (id: unknown): boolean => typeof id === 'string' && id !== ''

function assertIds(tenants: unknown): void {
  if (Array.isArray(tenants) && tenants.length > 0 && tenants.every(isId)) return
  throw invalidOption('forgetUsage.tenants', 'must be a list of ids, such as ["acme"]', tenants)
}
