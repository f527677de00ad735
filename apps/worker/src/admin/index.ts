import { ConfigError, type Limiter } from '@sluice/core'
import { digestOf } from '../call-log.ts'
import { callSettings } from '../call-settings.ts'
import type { Env } from '../env.ts'
import { SPEND_ADDRESSES } from '../spend/admin-addresses.ts'
import { spendPage } from '../spend/page.ts'
import { inKnownStore, type NamedStore } from '../store.ts'
import { administration } from './admin.ts'
import { operatorVerifier } from './operators.ts'

/** The fewest characters of `ADMIN_KEY`: whoever has it may make keys and raise every budget. */
const MIN_LENGTH = 32

/**
 * Returns the handler of all addresses below `/admin`, or `undefined` without `ADMIN_KEY`.
 *
 * @throws ConfigError When `ADMIN_KEY` is short, or has a space.
 */
export function administrationFor(env: Env, limiter: Limiter, counting: NamedStore) {
  const { ADMIN_KEY: key, LIMITS } = env
  if (!key) return undefined
  if (key.length < MIN_LENGTH || /\s/.test(key)) {
    const rule = `must be a secret of ${MIN_LENGTH} characters or more, without a space: openssl rand -hex 32`
    throw new ConfigError('invalid_option', 'ADMIN_KEY', rule)
  }
  const { logsTenants } = callSettings(env)
  return administration({
    limiter,
    store: counting.store,
    pages: new Map([['/admin/spend', spendPage]]),
    others: SPEND_ADDRESSES,
    verify: inKnownStore(operatorVerifier(limiter, key), counting, LIMITS),
    nameTenant: async (tenant) => (logsTenants ? tenant : digestOf(tenant)),
  })
}
