import { createDashboard, type Dashboard, type MakeReport } from '@sluice/dashboard'
import { findings, shadowReport, usage } from '@sluice/usage/report'
import { isUsageRecorded } from './usage'

const WEEK_MS = 7 * 86_400_000

/** Reports on a week of what both limiters have recorded. */
const makeReport: MakeReport = async () => {
  // Imported only now, because that limiter reports to this dashboard.
  const { chatLimiter } = await import('./limits/chat')
  const hours = await usage(chatLimiter, { from: Date.now() - WEEK_MS })
  return { findings: findings({ hours }), shadow: shadowReport(hours).policies }
}

const options = isUsageRecorded ? { report: makeReport } : {}

/** The dashboard of this process. Next.js may load this file once for each route. */
export const dashboard: Dashboard = createDashboard({ name: 'demo', ...options })
