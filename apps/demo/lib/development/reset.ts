import { setTimeout as delay } from 'node:timers/promises'
import { forgetUsage } from '@sluice/usage'
import { tenants } from '../auth/tenants'
import { dashboard } from '../dashboard'
import { chatLimiter } from '../limits/chat'
import { DENIAL_AGE_MS, GPU_POLICIES, limiter, routes } from '../limits/ai-routes'
import { isUsageRecorded, USAGE_FLUSH_MS } from '../usage'
import { isClockAhead, restoreClock } from './clock'

/** The time of a flush that is due, and of its way to the store. */
const SAVED_AFTER_MS = USAGE_FLUSH_MS + 500

/**
 * Gives the demo's tenants, or some of them, all their budgets back, and the GPU to all; forgets what they have used,
 * and takes them off the dashboard.
 */
export async function resetTenants(names?: readonly string[]): Promise<void> {
  // Units counted at a later time would count for longer than their window.
  const all = names === undefined || isClockAhead()
  const chosen = tenants.filter(({ tenant }) => all || names.includes(tenant))
  if (isUsageRecorded) {
    // The middleware counts in an isolate of its own. Before a scenario, nothing of it is on its way.
    if (names === undefined) await delay(SAVED_AFTER_MS)
    // Both limiters record into the same cells, those of the chat at the demo's clock.
    const ids = chosen.map(({ tenant }) => tenant)
    await forgetUsage(chatLimiter, ids)
  }
  restoreClock()
  await Promise.all([
    ...chosen.flatMap((subject) => [
      chatLimiter.reset(subject),
      ...routes.map(({ id: route }) => limiter.reset({ ...subject, route })),
    ]),
    // Policies that all tenants share are reset by name only.
    limiter.reset(tenants[0], { policies: GPU_POLICIES }),
  ])
  // The middleware caches denials in an isolate of its own.
  await delay(DENIAL_AGE_MS)
  if (names === undefined) dashboard.forget()
  else for (const { tenant } of chosen) dashboard.forget(tenant)
}
