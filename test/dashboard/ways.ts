import { manualClock } from '@sluice/core'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { relay } from '@sluice/dashboard/relay'
import { onTestFinished, vi } from 'vitest'
import { NOON } from './support.ts'

const KEY = 'k'.repeat(32)
/** The clock of the dashboards. */
export const clock = manualClock(NOON)

/** The ways of a decision to a dashboard. */
export const WAYS = {
  'in its process': () => {
    const dashboard = createDashboard({ clock })
    return { dashboard, extension: dashboard.watch() }
  },
  'from another process': () => {
    const dashboard = createDashboard({ clock })
    const handler = dashboardHandler(dashboard, { authorize: () => true, relayKey: KEY })
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => handler(new Request(url, init)))
    onTestFinished(() => void vi.unstubAllGlobals())
    return {
      dashboard,
      extension: relay({ target: () => ({ url: 'http://localhost/dashboard', key: KEY }) }),
    }
  },
}
