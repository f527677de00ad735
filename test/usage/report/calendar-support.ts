import { manualClock, slidingWindow, type Limiter } from '@sluice/core'
import type { Usage, UsageRow } from '@sluice/usage/report'
import { recording } from '../support.ts'

const QUARTER_MS = 900_000

/** A policy for each unit of a row, and one in shadow, with room for all but the denials. */
export const POLICIES = [
  slidingWindow({ name: 'rpm', limit: 1, window: '1s', per: ['tenant'] }),
  slidingWindow({ name: 'usd', unit: 'usd', limit: 1e12, window: '1m', per: ['tenant'] }),
  slidingWindow({ name: 'next', limit: 1, window: '1h', per: ['tenant'], mode: 'shadow' }),
]

export interface Sent {
  readonly at: number
  readonly usd: number
}

/** Sends a request and one that is denied in each quarter-hour; each request costs another amount. */
export async function traffic(
  start: string,
  days: number,
  keepHours: `${number}d` = '8d',
): Promise<{ limiter: Limiter; sent: Sent[] }> {
  const clock = manualClock(Date.parse(start))
  const { limiter } = recording(POLICIES, { clock, usage: { tenants: 'plain', keepHours } })
  const sent: Sent[] = []
  for (let quarter = 0; quarter < days * 96; quarter += 1) {
    const usd = 1_000 + quarter
    await limiter.check({ tenant: 'acme' }, { cost: { usd } })
    await limiter.check({ tenant: 'acme' }, { cost: { usd } })
    sent.push({ at: clock(), usd })
    clock.advance(QUARTER_MS)
  }
  return { limiter, sent }
}
export const sumOf = <T>(items: readonly T[], valueOf: (item: T) => number): number =>
  items.reduce((sum, item) => sum + valueOf(item), 0)

export const ofOutcome = ({ rows }: Usage, outcome: UsageRow['outcome']): UsageRow[] =>
  rows.filter((row) => row.outcome === outcome)
