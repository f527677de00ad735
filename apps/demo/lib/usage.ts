import { recordUsage } from '@sluice/usage'
import { recordDenials } from '@sluice/usage/denials'

/** True if usage is recorded, for the findings on the dashboard. Off without scenarios: it costs requests to the store. */
export const isUsageRecorded = process.env['DEMO_CONTROLS'] === 'on'

/** The time within which each isolate saves what it has counted. */
export const USAGE_FLUSH_MS = 1_000

/** Records who used what, and the denials, whose cost the dashboard asks for. */
export const usageRecords = isUsageRecorded
  ? [
      recordUsage({ tenants: 'plain', flushEvery: USAGE_FLUSH_MS }),
      recordDenials({ tenants: 'plain', flushEvery: USAGE_FLUSH_MS }),
    ]
  : []
