import { budget, modelPolicies, usd } from '@sluice/ai'
import { createLimiter, manualClock } from '@sluice/core'
import { createApiKey } from '@sluice/core/api-keys'
import { calendar } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { expect, it } from 'vitest'
import { limitsView } from '../../apps/worker/src/spend/limits-view.ts'
import { ownUsage } from '../../apps/worker/src/spend/own-usage.ts'
import { NOON } from '../support/times.ts'

const END = '2026-02-01T00:00:00+01:00[Europe/Berlin]'
const subject = { tenant: 'acme' }

/** The limits of an app that has changed those of the gateway. */
function setUp() {
  const per = ['tenant'] as const
  const resets = calendar({ zone: 'Europe/Berlin' })
  return createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    policies: [
      budget({ monthly: usd(10), per, resets }),
      ...modelPolicies({ per, rpm: 5, tpm: 1_000, inFlight: 2 }),
    ],
  })
}

it('the page of spend says when a limit with a calendar is back, as local time', async () => {
  const limiter = setUp()
  await createApiKey(limiter, subject)
  await limiter.check(subject, { cost: { usd: usd(1), request: 1, token: 0, call: 0 } })
  const { html } = await limitsView(limiter, subject, { tenant: 'acme' })
  expect(html.match(/1\S* of \S+ used, [^<]*/g)).toEqual([
    '1.00 of $10.00 used, back in 17 days, at 2026-02-01 00:00 (Europe/Berlin)',
    '1 of 5 used, back in 60 s',
  ])
})

it('a key is told the end of its limits as an instant, and of a calendar as local time, too', async () => {
  const handle = ownUsage(setUp(), () => Promise.resolve(subject))
  const context = { waitUntil: () => {} }
  const answer = await handle(new Request('https://gateway.example/v1/usage'), {} as never, context)
  const { limits } = (await answer.json()) as { limits: object[] }
  expect(limits.slice(0, 2)).toMatchObject([
    { policy: 'budget.monthly', resets_at: '2026-01-31T23:00:00.000Z', resets_at_local: END },
    { policy: 'rpm', resets_at: '2026-01-15T12:01:30.000Z' },
  ])
  expect(limits[1]).not.toHaveProperty('resets_at_local')
})
