import { createLimiter, manualClock } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import { Limits } from '../../../packages/dashboard/dist/react/limits.js'
import { titleOf } from '../../../packages/dashboard/dist/react/words.js'
import { decisionRecord } from '../../../packages/dashboard/src/records/record.ts'
import { NOON } from '../../support/times.ts'

const acme = { tenant: 'acme' }
const DAY = 86_400_000
const resets = calendar({ every: 'month' })

it.each([
  ['without an allowance', undefined],
  ['with an allowance', { amount: 5_000_000, resets }],
])('a balance %s is recorded without an end, and is never fresh again', async (_, included) => {
  const policy = credits({
    name: 'credits',
    per: ['tenant'],
    unsettled: 'keep',
    ...(included && { included }),
  })
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store: memory(),
    clock,
    onStoreError: 'deny',
    policies: [policy],
  })
  await grant(limiter, acme, { amount: 9_000_000, id: 'a', at: NOON, kind: 'paid' })
  const decision = await limiter.check(acme, { cost: { usd: 1_000_000 } })
  const [fact] = decisionRecord(decision, acme, {}, policy()).policies
  expect(fact).not.toHaveProperty('endsAt')
  expect(fact).not.toHaveProperty('resetsAt')
  expect(fact?.freshMs).toBeGreaterThan(365 * DAY)
})

it('the page shows what is left of a balance, and no window', () => {
  const policy = {
    limiter: 'limits',
    name: 'credits',
    unit: 'usd',
    limit: 4_000_000,
    remaining: 3_000_000,
    windowMs: 0,
    freshAt: NOON + DAY,
    enforced: true,
    denied: 0,
  }
  expect(titleOf(policy)).toBe('Dollars in credit')
  const page = renderToStaticMarkup(
    createElement(Limits, { tenant: { tenant: 'acme', policies: [policy] }, now: NOON } as never),
  )
  expect(page).toContain('$3.00 left')
  expect(page).not.toMatch(/NaN|Infinity|0 s|of \$4/)
})
