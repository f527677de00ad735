import { manualClock, slidingWindow, type Extension, type Limiter } from '@sluice/core'
import { createDashboard, dashboardHandler, type HandlerOptions } from '@sluice/dashboard'
import { whyDenied } from '@sluice/dashboard/why'
import type { ownRedis } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'

export const tpm = slidingWindow({
  name: 'tpm',
  unit: 'token',
  limit: 100,
  window: '1m',
  per: ['tenant'],
})
const rpm = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })
const all = slidingWindow({ name: 'all', limit: 900, window: '1m', per: 'global' })
export const CHAT = { tenant: 'acme', route: 'chat' }

/** A limiter in a Redis, and a function that asks about it as a page does. */
export function setUp(redis: ReturnType<typeof ownRedis>, extensions: readonly Extension[] = []) {
  const clock = manualClock(NOON)
  const dashboard = createDashboard({ clock })
  const { limiter } = redis.setUp([tpm, rpm, all], {
    clock,
    extensions: [dashboard.watch({ name: 'api' }), ...extensions],
  })
  return { clock, dashboard, limiter, ask: asking({ api: limiter }, dashboard) }
}

/** Returns a function that sends a question to a handler, and reads its answer. */
export const asking =
  (
    limiters: Readonly<Record<string, Limiter>>,
    dashboard = createDashboard(),
    options: Partial<HandlerOptions> = {},
  ) =>
  async (question: unknown) => {
    const handler = dashboardHandler(dashboard, {
      authorize: () => true,
      why: whyDenied(limiters),
      ...options,
    })
    const url = new URL('https://app.example/api/dashboard?page=1')
    url.searchParams.set('why', typeof question === 'string' ? question : JSON.stringify(question))
    const response = await handler(new Request(url))
    const { text = '', message = '', ...others } = (await response.json()) as Record<string, string>
    return { status: response.status, lines: `${text}${message}`.split('\n'), ...others }
  }
