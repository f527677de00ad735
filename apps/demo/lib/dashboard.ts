import { createDashboard, type Dashboard, type MakeReport } from '@sluice/dashboard'
import { findings, shadowReport, usage } from '@sluice/usage/report'
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { isUsageRecorded, usageRecords } from './usage'

const WEEK_MS = 7 * 86_400_000

/** Reads what the limiters have recorded, from the store that they share. It decides nothing. */
const reader = createLimiter({
  store: upstash(),
  policies: [slidingWindow({ name: 'unused', limit: 1, window: '1m', per: 'global' })],
  extensions: usageRecords,
})

/** Reports on a week of what both limiters have recorded. */
const makeReport: MakeReport = async () => {
  const hours = await usage(reader, { from: Date.now() - WEEK_MS })
  return { findings: findings({ hours }), shadow: shadowReport(hours).policies }
}

const options = isUsageRecorded ? { report: makeReport } : {}

/** The dashboard of this process. Next.js may load this file once for each route. */
export const dashboard: Dashboard = createDashboard({ name: 'demo', ...options })
