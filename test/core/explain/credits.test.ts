import { createLimiter, dailyCap, manualClock } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { credits, grant } from '@sluice/core/credits'
import { explain, explanationText } from '@sluice/core/explain'
import { choiceFacts, choiceTexts } from '@sluice/core/internal/text'
import { memory } from '@sluice/core/memory'
import { expect, it, vi } from 'vitest'
import { NOON } from '../../support/times.ts'

const acme = { tenant: 'acme' }
const usd = (dollars: number) => Math.round(dollars * 1_000_000)

async function setUp(included?: number) {
  const store = memory()
  const resets = calendar({ every: 'month', zone: 'Europe/Berlin' })
  const policy = credits({
    name: 'credits',
    per: ['tenant'],
    unsettled: 'keep',
    ...(included !== undefined && { included: { amount: usd(included), resets } }),
  })
  const daily = dailyCap({ name: 'daily', limit: usd(10), unit: 'usd', per: ['tenant'] })
  const limiter = createLimiter({
    store,
    clock: manualClock(NOON),
    onStoreError: 'deny',
    policies: [policy, daily],
  })
  if (included === undefined) {
    await grant(limiter, acme, { amount: usd(0.04), id: 'a', at: NOON, kind: 'paid' })
  }
  return { limiter, store, cost: { usd: usd(0.12) } }
}

it('a denial by a balance says what is left, and how much more is needed', async () => {
  const { limiter, store, cost } = await setUp()
  const calls = vi.spyOn(store, 'check')
  const explanation = await explain(limiter, acme, { cost })
  // No limit is searched for: there is none.
  expect(calls.mock.calls.length).toBeLessThan(4)
  expect(explanation.denials[0]).toMatchObject({ reason: 'credits_exhausted', raise: undefined })
  expect(explanationText(explanation)).toBe(
    [
      'Denied by credits: $0.04 left, and it asks for $0.12.',
      '  It fits after a top-up of at least $0.08 for credits.',
      '  It fits now with $0.08 less.',
      '  daily: $0.00 of $10.00 used',
    ].join('\n'),
  )
})

it('a denial by an allowance says the wait, and the allowance with which it fits', async () => {
  const { limiter, cost } = await setUp(0.12)
  await limiter.check(acme, { cost: { usd: usd(0.1) } })
  expect(
    explanationText(await explain(limiter, acme, { cost }))
      .split('\n')
      .slice(0, 4),
  ).toEqual([
    'Denied by credits: $0.02 left, and it asks for $0.12.',
    '  It fits in 16d 11h if nothing else is charged.',
    '  It fits now with $0.10 less.',
    '  It fits now with a limit of $0.22 for credits.',
  ])
})

it('a balance that has room says what is left', async () => {
  const { limiter } = await setUp()
  expect(explanationText(await explain(limiter, acme, { cost: { usd: 1 } }))).toMatch(
    /^Allowed\.\n {2}credits: \$0\.04 left\n/,
  )
})

it.each([
  [false, 'large: credits has $0.04 left and it may cost $0.12; it fits after a top-up'],
  [
    true,
    'large: credits had $0.04 left and it could cost $0.12; it would have fitted after a top-up',
  ],
])('a choice that a balance has no room for needs a top-up (recorded: %s)', (recorded, text) => {
  const violated = { name: 'credits', unit: 'usd', remaining: usd(0.04), cost: usd(0.12) }
  const tried = {
    subject: { model: 'large' },
    allowed: false,
    reason: 'credits_exhausted',
    retryAfterMs: null,
    violated,
  } as const
  expect(choiceTexts([tried], recorded)).toEqual([text])
  expect(choiceTexts(choiceFacts([tried]), recorded)).toEqual([text])
})
