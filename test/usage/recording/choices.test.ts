import { dailyCap, slidingWindow } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { reserve } from '@sluice/core/reservations'
import { forgetUsage } from '@sluice/usage'
import { denialText, listDenials, flushDenials, recordDenials } from '@sluice/usage/denials'
import { findings, usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { recording } from '../support.ts'

const SUBJECT = { tenant: 'acme', route: 'chat' }
const HOUR = NOON - 30_000
const BUDGET = dailyCap({ name: 'budget.daily', unit: 'usd', limit: 100_000, per: ['tenant'] })
const LADDER = choices([
  { subject: { model: 'large' }, cost: { usd: 60_000 } },
  { subject: { model: 'small' }, cost: { usd: 20_000 } },
])

describe.each(STORES_TO_TEST)('calls with choices, recorded in %s', (name) => {
  const make = storesOf(name)

  it('are counted by the model asked and the model used, beside the row of the one used', async () => {
    const { limiter } = recording([BUDGET], { store: make() })
    const calls = []
    for (let count = 0; count < 4; count += 1) {
      calls.push(await reserve(limiter, SUBJECT, { choices: LADDER }))
    }
    const used = await usage(limiter)
    const row = { start: HOUR, tenant: 'acme', route: 'chat', asked: 'large' }
    expect(used.choices).toEqual([
      { ...row, model: '', policy: 'budget.daily', requests: 1 },
      { ...row, model: 'large', policy: '', requests: 1 },
      { ...row, model: 'small', policy: 'budget.daily', requests: 2 },
    ])
    // A settlement corrects the row of the model used, and no count of calls.
    for (const call of calls) if (call.allowed) await call.settle({ usd: 1_000 })
    const settled = await usage(limiter)
    expect(settled.choices).toEqual(used.choices)
    expect(
      settled.rows.map(({ model, outcome, requests, usd }) => [model, outcome, requests, usd]),
    ).toEqual([
      ['large', 'allowed', 1, 1_000],
      // Both would fit at midnight. A denial is about the first of those that fit soonest.
      ['large', 'denied', 1, 60_000],
      ['small', 'allowed', 2, 2_000],
    ])
  })

  it('are forgotten with their tenant', async () => {
    const { limiter } = recording([BUDGET], { store: make() })
    await limiter.check(SUBJECT, { choices: LADDER })
    await forgetUsage(limiter, ['acme'])
    expect(await usage(limiter)).not.toHaveProperty('choices')
  })

  it('lead from a denial to a sentence for each choice', async () => {
    const { limiter } = setUp([BUDGET], {
      store: make(),
      extensions: [recordDenials({ flushEvery: '1h' })],
    })
    await limiter.check(SUBJECT, { cost: { usd: 90_000 } })
    await limiter.check(SUBJECT, { choices: LADDER })
    await flushDenials(limiter)
    const [denial] = await listDenials(limiter, 'acme')
    expect(denialText('acme', denial?.id ?? '', denial).split('\n')).toEqual([
      '2026-01-15 12:00:30Z tenant=acme route=chat model=large',
      'Denied by budget.daily: $0.09 of $0.10 used, and it asked for $0.06.',
      '  It would have fitted 12h later, if nothing else was charged.',
      '  large: budget.daily had $0.01 left and it could cost $0.06; it would have fitted in 12h',
      '  small: budget.daily had $0.01 left and it could cost $0.02; it would have fitted in 12h',
    ])
  })
})

it('a request without choices has no row of them', async () => {
  const { limiter } = recording([BUDGET])
  await limiter.check({ ...SUBJECT, model: 'large' }, { cost: { usd: 1 } })
  expect(await usage(limiter)).not.toHaveProperty('choices')
})

it('a call that is decided anew after a failure has the model that was asked for', async () => {
  const { limiter } = recording([BUDGET])
  const subject = { ...SUBJECT, askedModel: 'large', model: 'small' }
  await limiter.check(subject, { cost: { usd: 1 } })
  const { choices: rows } = await usage(limiter)
  expect(rows).toMatchObject([{ asked: 'large', model: 'small', policy: '', requests: 1 }])
})

it('choices by another dimension than the model have no row', async () => {
  const perRoute = slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant', 'route'] })
  const { limiter } = recording([perRoute])
  await limiter.check(SUBJECT, { choices: choices([{ subject: { route: 'a' } }]) })
  expect(await usage(limiter)).not.toHaveProperty('choices')
})

describe('the finding of a model that is passed over', () => {
  const spent = dailyCap({ name: 'budget.daily', unit: 'usd', limit: 50_000, per: ['tenant'] })

  /** Returns the findings after so many calls with a first choice that fits, and so many without. */
  async function foundAfter(first: number, others: number) {
    const { limiter } = recording([spent])
    const fitting = choices([{ subject: { model: 'large' }, cost: { usd: 1 } }])
    const falling = choices([
      { subject: { model: 'large' }, cost: { usd: 60_000 } },
      { subject: { model: 'small' }, cost: { usd: 1 } },
    ])
    for (let count = 0; count < first; count += 1)
      await limiter.check(SUBJECT, { choices: fitting })
    for (let count = 0; count < others; count += 1)
      await limiter.check(SUBJECT, { choices: falling })
    return findings({ hours: await usage(limiter) })
  }

  it('names the model asked, the one used, and the policy without room', async () => {
    expect(await foundAfter(1, 59)).toEqual([
      {
        kind: 'passed-over',
        tenant: 'acme',
        text: 'acme asked for large in 60 calls in the 24 hours from 14 January, 13:00, and another model answered 98 % of them, most often small: "budget.daily" had no room.',
        evidence: {
          asked: 'large',
          model: 'small',
          policy: 'budget.daily',
          calls: 60,
          share: 59 / 60,
          from: HOUR + 3_600_000 - 86_400_000,
        },
      },
    ])
  })

  it('is not made of calls that get less of the model asked for', async () => {
    const { limiter } = recording([spent])
    const shortened = choices([
      { subject: { model: 'large' }, cost: { usd: 60_000 } },
      { subject: { model: 'large' }, cost: { usd: 1 } },
    ])
    for (let count = 0; count < 60; count += 1) await limiter.check(SUBJECT, { choices: shortened })
    const hours = await usage(limiter)
    expect(hours.choices).toMatchObject([{ asked: 'large', model: 'large', requests: 60 }])
    expect(findings({ hours })).toEqual([])
  })

  it.each([
    ['its calls are few', 0, 49],
    ['some calls get the model asked for', 5, 59],
  ])('is not made if %s', async (_, first, others) => {
    expect(await foundAfter(first, others)).toEqual([])
  })
})
