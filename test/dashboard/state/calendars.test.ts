import { createLimiter, fixedWindow, manualClock, monthlyCap } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { createDashboard } from '@sluice/dashboard'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import { Limits } from '../../../packages/dashboard/dist/react/limits.js'
import { titleOf } from '../../../packages/dashboard/dist/react/words.js'

const HOUR = 3_600_000
/** Berlin, where clocks go back on 25 October 2026: that day has 25 hours. */
const STROKE = Date.parse('2026-10-25T00:00:00+02:00')
const SATURDAY = '2026-10-25T00:00:00+02:00[Europe/Berlin]'
const SUNDAY = '2026-10-26T00:00:00+01:00[Europe/Berlin]'

const instantOf = (end: string): number => Date.parse(end.replace(/\[.*/, ''))

/** A dashboard that is told of decisions about a budget of 10,000 micro-dollars a day in Berlin. */
function setUp() {
  const clock = manualClock(STROKE - HOUR)
  const dashboard = createDashboard({ clock })
  const decide = (at: number, resetsAt: string, remaining: number): void => {
    const endsAt = instantOf(resetsAt)
    clock.set(at)
    const fact = {
      name: 'daily',
      unit: 'usd',
      limit: 10_000,
      remaining,
      cost: 4_000,
      charged: true,
      windowMs: 24 * HOUR,
      freshMs: endsAt - at,
      endsAt,
      resetsAt,
      fits: true,
      enforced: true,
    }
    const facts = { limiter: 'chat', tenant: 'acme', at, allowed: true, estimateUsd: 4_000 }
    dashboard.take({ type: 'decision', ...facts, call: 'any', policies: [fact] })
  }
  const settle = (at: number): void => {
    const call = { id: `call${at}`, limiter: 'chat', tenant: 'acme', usd: 4_000 }
    dashboard.take({ type: 'reserved', ...call, at, settleBy: at + HOUR, isDegraded: false })
    const returned = { usd: 3_000 }
    dashboard.take({ type: 'settled', id: call.id, tokens: 0, returned, overrun: {} })
  }
  const policy = () => dashboard.view().tenants[0]?.policies[0]
  const page = () =>
    renderToStaticMarkup(
      createElement(Limits, { tenant: dashboard.view().tenants[0], now: clock() }),
    )
  return { clock, decide, settle, policy, page }
}

it('a limit with a calendar says its end as local time, until then', () => {
  const { clock, decide, policy, page } = setUp()
  decide(STROKE - HOUR, SATURDAY, 6_000)
  expect(policy()).toMatchObject({ resetsAt: SATURDAY })
  expect(page()).toContain('$0.0040 of $0.0100 used, resets at 2026-10-25 00:00 (Europe/Berlin)')
  clock.set(STROKE)
  expect(page()).toContain('$0.00 of $0.0100 used<')
  decide(STROKE + 1, SUNDAY, 6_000)
  expect(page()).toContain('$0.0040 of $0.0100 used, resets at 2026-10-26 00:00 (Europe/Berlin)')
})

it('a settlement belongs to the period of its call, in a day of 25 hours, too', () => {
  const { decide, settle, policy } = setUp()
  decide(STROKE - 1_000, SATURDAY, 6_000)
  decide(STROKE + 1_000, SUNDAY, 6_000)
  settle(STROKE - 1_000)
  expect(policy()).toMatchObject({ remaining: 6_000 })
  settle(STROKE + 1_000)
  expect(policy()).toMatchObject({ remaining: 9_000 })
})

it.each([
  [1, 'Requests a day'],
  [7, 'Requests a week'],
  [31, 'Requests a month'],
  [366, 'Requests a year'],
])('a limit of %i days is called %s', (days, title) => {
  expect(titleOf({ unit: 'request', windowMs: days * 24 * HOUR } as never)).toBe(title)
})

it('the decisions of a limiter with a calendar have its end, those of another have none', async () => {
  const clock = manualClock(STROKE)
  const dashboard = createDashboard({ clock })
  const per = ['tenant'] as const
  const resets = calendar({ every: 'week', zone: 'Europe/Berlin' })
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [
      fixedWindow({ name: 'weekly', limit: 5, per, resets }),
      monthlyCap({ name: 'monthly', limit: 5, per }),
    ],
    extensions: [dashboard.watch()],
  })
  await limiter.check({ tenant: 'acme' })
  const policies = dashboard.view().tenants[0]?.policies
  expect(policies?.map(({ name, resetsAt }) => [name, resetsAt])).toEqual([
    ['weekly', SUNDAY],
    ['monthly', undefined],
  ])
})
