import { slidingWindow, type LimiterOptions } from '@sluice/core'
import type { RecordUsageOptions } from '@sluice/usage'
import { recordUsage } from '@sluice/usage'
import { setUp, type SetUpOptions } from '../support/limiters.ts'

/** Two requests a minute for each tenant, whatever their tokens. */
export const TWO_RPM: LimiterOptions['policies'] = [
  slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] }),
  slidingWindow({ name: 'tpm', unit: 'token', limit: 10_000, window: '1m', per: ['tenant'] }),
]

/** A limiter that records usage under plain ids. */
export function recording(
  policies: LimiterOptions['policies'] = TWO_RPM,
  options: SetUpOptions & { readonly usage?: RecordUsageOptions } = {},
): ReturnType<typeof setUp> {
  const { usage = { tenants: 'plain' }, extensions = [], ...rest } = options
  return setUp(policies, { ...rest, extensions: [recordUsage(usage), ...extensions] })
}
