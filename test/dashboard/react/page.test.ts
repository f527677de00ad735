import { expect, it } from 'vitest'
import { headlineOf } from '../../../packages/dashboard/dist/react/headline.js'
import { stackedOf } from '../../../packages/dashboard/dist/react/series.js'
import { tokensToday } from '../../../packages/dashboard/dist/react/tenants.js'
import { axisDollarsOf } from '../../../packages/dashboard/dist/react/words.js'
import { setup } from '../support.ts'

it.each([
  [[0, 0, 0], 'Quiet: no request in the last minute'],
  [[1, 0, 0], 'Calm: one request in the last minute, none denied'],
  [[1_240, 0, 0], 'Calm: 1,240 requests in the last minute, none denied'],
  [[997, 3, 0], 'Mostly calm: less than 1 % denied in the last minute'],
  [[95, 5, 4_500], 'Mostly calm: 5 % denied in the last minute, about $0.0045 not spent'],
  [[75, 25, 0], 'Unsettled: 25 % denied in the last minute'],
  [[8, 92, 4_160_000], 'Stormy: 92 % denied in the last minute, about $4.16 not spent'],
  // Calls that are retried with success are no longer avoided.
  [[50, 50, -300], 'Stormy: 50 % denied in the last minute'],
] as const)('%j are told in one sentence', ([allowed, denied, avoidedUsd], sentence) => {
  expect(headlineOf({ allowed, denied, avoidedUsd }, 'the last minute')).toBe(sentence)
})

const STEPS = Array.from({ length: 11 }, (_, power) => 10 ** power).flatMap((ten) => [
  ten,
  2 * ten,
  5 * ten,
])

it('the labels of an axis of dollars differ, and have no more digits than they need', () => {
  for (const step of STEPS) {
    const labels = [0, 1, 2, 3, 4, 5].map((index) => axisDollarsOf(index * step, step))
    expect([...new Set(labels)]).toEqual(labels)
    for (const [index, label] of labels.entries()) {
      expect(Number(label.replaceAll(/[$,]/g, '')) * 1_000_000).toBeCloseTo(index * step, 3)
    }
  }
  expect([200, 400, 600].map((value) => axisDollarsOf(value, 200))).toEqual([
    '$0.0002',
    '$0.0004',
    '$0.0006',
  ])
  expect(axisDollarsOf(3_000_000, 1_000_000)).toBe('$3')
  expect(axisDollarsOf(500_000, 500_000)).toBe('$0.50')
})

it('what was denied stands on what was allowed', () => {
  const [times, allowed, denied] = [
    [1, 2, 3],
    [5, 0, 7],
    [1, 2, 0],
  ]
  expect(stackedOf([times, allowed, denied] as number[][])).toEqual([times, [6, 2, 7], allowed])
  expect(stackedOf([])).toEqual([[]])
})

it('a page that stays open past midnight shows none of the tokens before it', () => {
  const midnight = Date.UTC(2026, 2, 2)
  expect(tokensToday(500, midnight - 1, midnight - 1)).toBe(500)
  expect(tokensToday(500, midnight - 1, midnight)).toBe(0)
  expect(tokensToday(500, midnight, midnight + 86_399_999)).toBe(500)
})

it('tokens are those of today, as the dollars of a daily budget are', async () => {
  const midnight = Date.UTC(2026, 2, 2)
  const { clock, dashboard, limiter } = setup()
  const cost = { request: 1, call: 0, token: 10, usd: 100 }
  clock.set(midnight - 1_000)
  await limiter.check({ tenant: 'acme', route: 'ask' }, { cost })
  await limiter.check({ tenant: 'other', route: 'ask' }, { cost })
  const tokens = (): unknown[] => {
    const { totals, tenants } = dashboard.view()
    return [totals.tokens, Object.fromEntries(tenants.map((one) => [one.tenant, one.tokens]))]
  }
  expect(tokens()).toEqual([20, { acme: 10, other: 10 }])
  clock.set(midnight)
  expect(tokens()).toEqual([0, { acme: 0, other: 0 }])
  await limiter.check({ tenant: 'acme', route: 'ask' }, { cost })
  expect(tokens()).toEqual([10, { acme: 10, other: 0 }])
  expect(dashboard.view().totals.allowed).toBe(3)
})

it('tokens of tenants that are not remembered any more count today, too', async () => {
  const { clock, dashboard, limiter } = setup()
  const cost = { request: 1, call: 0, token: 1, usd: 0 }
  for (let index = 0; index < 300; index += 1) {
    await limiter.check({ tenant: `t${index}`, route: 'ask' }, { cost })
  }
  expect(dashboard.view().totals.tokens).toBe(300)
  clock.advance(86_400_000)
  expect(dashboard.view().totals.tokens).toBe(0)
  expect(dashboard.view().totals.allowed).toBe(300)
})
