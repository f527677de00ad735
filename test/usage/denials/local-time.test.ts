import { denialText, denyingText, type RecordedDenial } from '@sluice/usage/denials'
import { expect, it } from 'vitest'
import { NOON } from '../../support/times.ts'

const END = '2026-02-01T00:00:00+01:00[Europe/Berlin]'
const counts = { unit: 'usd', limit: 5_000_000, burst: 5_000_000, enforced: true }

const DENIAL: RecordedDenial = {
  id: 'req_7',
  at: NOON,
  subject: { route: 'chat' },
  reason: 'monthly_quota_exceeded',
  retryAfterMs: 7_200_000,
  policies: [
    {
      ...counts,
      name: 'budget.monthly',
      windowMs: 2_678_400_000,
      remaining: 20_000,
      cost: 80_000,
      fits: false,
      retryAfterMs: 7_200_000,
      resetsAt: END,
    },
    {
      ...counts,
      name: 'budget.daily',
      windowMs: 86_400_000,
      remaining: 1_000_000,
      cost: 80_000,
      fits: true,
      retryAfterMs: 0,
      resetsAt: '2026-01-16T00:00:00+01:00[Europe/Berlin]',
    },
  ],
}

it('a recorded denial says the end of each period as local time, as it was then', () => {
  const used =
    'budget.monthly: $4.98 of $5.00 used in the period until 2026-02-01 00:00 (Europe/Berlin)'
  expect(denialText('acme', 'req_7', DENIAL).split('\n').slice(1)).toEqual([
    `Denied by ${used}, and it asked for $0.08.`,
    '  It would have fitted 2h later, if nothing else was charged.',
    '  budget.daily: $4.00 of $5.00 used in the period until 2026-01-16 00:00 (Europe/Berlin)',
  ])
  expect(denyingText(DENIAL)).toBe('budget.monthly: $4.98 of $5.00 used, $0.08 asked for')
})
