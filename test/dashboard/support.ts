import { budget, usd } from '@sluice/ai'
import { concurrency, createLimiter, manualClock, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { createDashboard } from '@sluice/dashboard'

/** Noon of a day, so that no test meets midnight by chance. */
export const NOON = Date.UTC(2026, 0, 15, 12)

/** A limiter of requests and dollars on a dashboard. Both have the same clock. */
export function setup() {
  const clock = manualClock(NOON)
  const dashboard = createDashboard({ clock })
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [
      budget({ daily: usd(0.01), per: ['tenant'] }),
      slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant', 'route'] }),
      slidingWindow({ name: 'tpm', unit: 'token', limit: 10_000, window: '1m', per: ['tenant'] }),
      concurrency({ name: 'in-flight', limit: 3, per: ['tenant'] }),
    ],
    extensions: [dashboard.watch({ name: 'chat' })],
  })
  return { clock, dashboard, limiter }
}

/** Returns an event's name and data for each event in a piece of a stream. */
export const eventsIn = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event.includes('\ndata: '))
    .map((event) => {
      const field = (name: string): string =>
        new RegExp(`^${name}: (.*)$`, 'm').exec(event)?.[1] ?? ''
      return { id: field('id'), name: field('event'), data: JSON.parse(field('data')) as unknown }
    })
