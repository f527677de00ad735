import { concurrency, definePlans } from '@sluice/core'
import { budget, modelLimits, modelPolicies, usd } from '@sluice/ai'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { mustReserve } from '../../core/reservations/support.ts'
import { remaining } from '../../support/decisions.ts'
import { setUp } from '../../support/limiters.ts'
import { loosely, mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'

describe('a budget', () => {
  const plans = definePlans({ free: { monthly: usd(1) }, team: { monthly: usd(20) } })
  const policies = [
    budget({ daily: usd(5), monthly: ({ plan }) => plan['monthly'], per: ['tenant'] }),
  ]
  const { limiter } = setUp(policies, { plans })

  it('limits the month by the plan and the day by its own limit, in micro-dollars', async () => {
    const cost = { usd: usd(0.4) }
    for (const left of [600_000, 200_000]) {
      const decision = await limiter.check({ tenant: 'a' }, { cost })
      expect(remaining(decision)['budget.monthly']).toBe(left)
    }
    expect(await limiter.check({ tenant: 'a' }, { cost })).toMatchObject({
      allowed: false,
      reason: 'monthly_quota_exceeded',
      violated: { name: 'budget.monthly', unit: 'usd', limit: 1_000_000 },
    })
    const team = { tenant: 'b', plan: 'team' }
    await limiter.check(team, { cost: { usd: usd(4.9) } })
    expect(await limiter.check(team, { cost })).toMatchObject({ reason: 'daily_quota_exceeded' })
  })
  it('counts calls in flight and gives back what they did not spend', async () => {
    const subject = { tenant: 'c' }
    const first = await mustReserve(limiter, subject, { cost: { usd: usd(0.9) } })
    expect((await reserve(limiter, subject, { cost: { usd: usd(0.2) } })).allowed).toBe(false)
    expect((await first.settle({ usd: 123_456 })).returned).toEqual({ usd: 776_544 })
    const again = await mustReserve(limiter, subject, { cost: { usd: usd(0.8) } })
    expect(remaining(again)['budget.monthly']).toBe(1_000_000 - 123_456 - 800_000)
  })
})

describe('dollars', () => {
  it.each([
    [0, 0],
    [0.000_001, 1],
    [0.1 + 0.2, 300_000],
    [12.5, 12_500_000],
    [1_000_000, 10 ** 12],
  ])('%d are %i micro-dollars', (dollars, micro) => {
    expect(usd(dollars)).toBe(micro)
  })
  it.each([-1, 100_000_001, Number.NaN, Infinity, '5' as unknown as number])(
    '%s are invalid',
    (bad) => {
      expect(() => usd(bad)).toThrow(expect.objectContaining({ option: 'usd' }))
    },
  )
})

describe('limits by model', () => {
  const { policies, modelOf } = modelLimits({
    per: ['user', 'model'],
    models: {
      'gpt-4o': { rpm: 3, rpd: 100, tpm: 1_000, inFlight: 2 },
      'claude-sonnet-4': { rpm: 2, itpm: 500, otpm: 100 },
    },
    otherModels: { rpm: 1, tpm: 100 },
  })
  const { limiter } = setUp(policies)
  const ask = (user: string, model: string, token = 0, input = 0, output = 0) =>
    reserve(
      limiter,
      { user, model: modelOf(model) },
      { cost: { token, input_token: input, output_token: output } },
    )

  it('make one policy of each column and give each model the limits of its row', async () => {
    expect(policies.flatMap((policy) => policy()).map(({ name }) => name)).toEqual([
      'rpd',
      'rpm',
      'tpm',
      'itpm',
      'otpm',
      'inFlight',
    ])
    const gpt = await ask('u1', 'gpt-4o', 400)
    expect(remaining(gpt)).toEqual({ rpd: 99, rpm: 2, tpm: 600, inFlight: 1 })
    expect(gpt.skipped.map(({ name, why }) => [name, why])).toEqual([
      ['itpm', 'unlimited'],
      ['otpm', 'unlimited'],
    ])
    const claude = await ask('u1', 'claude-sonnet-4', 10 ** 9, 300, 60)
    expect(remaining(claude)).toEqual({ rpm: 1, itpm: 200, otpm: 40 })
  })
  it('deny by the column that is used up, for this user and model only', async () => {
    await ask('u2', 'gpt-4o', 900)
    expect(await ask('u2', 'gpt-4o', 200)).toMatchObject({
      violated: { name: 'tpm', unit: 'token' },
    })
    expect(await ask('u2', 'claude-sonnet-4', 0, 100, 101)).toMatchObject({
      reason: 'cost_exceeds_limit',
      violated: { name: 'otpm' },
    })
    expect((await ask('u2', 'claude-sonnet-4', 0, 100, 100)).allowed).toBe(true)
    expect((await ask('u3', 'gpt-4o', 900)).allowed).toBe(true)
  })
  it('limit calls in flight, and settle input and output separately', async () => {
    const subject = { user: 'u4', model: 'gpt-4o' }
    const cost = { token: 10, input_token: 0, output_token: 0 }
    const calls = [
      await mustReserve(limiter, subject, { cost }),
      await mustReserve(limiter, subject, { cost }),
    ]
    expect(await reserve(limiter, subject, { cost })).toMatchObject({
      reason: 'concurrency_exceeded',
    })
    await calls[0]?.settle({ token: 7 })
    expect(remaining(await reserve(limiter, subject, { cost }))).toMatchObject({
      tpm: 973,
      inFlight: 0,
    })
  })
  it.each([
    ['gpt-4o', 'gpt-4o'],
    ['gpt-4o-2024-08-06', 'gpt-4o'],
    ['openai/gpt-4o', 'gpt-4o'],
    ['claude-sonnet-4-20250514', 'claude-sonnet-4'],
    ['gpt-4o-mini', 'other'],
    ['invented-1', 'other'],
    ['', 'other'],
    ['__proto__', 'other'],
    ['constructor', 'other'],
    [undefined, 'other'],
    [5 as unknown as string, 'other'],
  ])('count %j as %s', (name, counted) => {
    expect(modelOf(name)).toBe(counted)
  })
  it('give all unknown models one shared budget', async () => {
    expect((await ask('u5', 'invented-1', 50)).allowed).toBe(true)
    expect((await ask('u5', 'invented-2', 10)).allowed).toBe(false)
  })
})

describe('a mistake in budgets or in limits by model is an error that names the option', () => {
  const limits = loosely(modelLimits)
  const good = { per: ['model'], models: { a: { rpm: 1 } }, otherModels: { rpm: 1 } }
  const MISTAKES: Mistake[] = [
    [
      'more calls at once than are counted',
      () => concurrency({ name: 'c', limit: 1_001, per: ['tenant'] }),
      'concurrency.limit',
    ],
    [
      'a unit of calls in flight',
      () => loosely(concurrency)({ name: 'c', limit: 1, per: ['tenant'], unit: 'token' }),
      'concurrency.unit',
      'unknown_option',
    ],
    [
      'a delay of calls in flight',
      () => loosely(concurrency)({ name: 'c', limit: 1, per: ['tenant'], backpressure: {} }),
      'concurrency.backpressure',
      'unknown_option',
    ],
    ['no limit', () => budget({ per: ['tenant'] }), 'budget'],
    [
      'an unknown option',
      () => loosely(budget)({ per: ['tenant'], weekly: 5 }),
      'budget.weekly',
      'unknown_option',
    ],
    ['dollars a day', () => budget({ per: ['tenant'], daily: 5 }), 'budget.daily'],
    [
      'dollars a month',
      () => modelPolicies({ per: ['tenant'], rpm: 20, monthly: 50 }),
      'modelPolicies.monthly',
    ],
    ...(['rpm', 'tpm', 'inFlight', 'daily', 'monthly'] as const).map((option): Mistake => [
      `less than nothing as ${option} of a model`,
      () => modelPolicies({ per: ['tenant'], [option]: -1 }),
      `modelPolicies.${option}`,
    ]),
    [
      'more calls of models at once than are counted',
      () => modelPolicies({ per: ['tenant'], inFlight: 1_001 }),
      'modelPolicies.inFlight',
    ],
    [
      'the usual policies of nobody',
      () => loosely(modelPolicies)({ daily: usd(5) }),
      'modelPolicies.per',
    ],
    ['a budget of nobody', () => loosely(budget)({ monthly: usd(5) }), 'budget.per'],
    [
      'a mode of a budget that does not exist',
      () => loosely(budget)({ per: ['tenant'], daily: usd(5), mode: 'off' }),
      'budget.mode',
    ],
    ['dollars with cents', () => budget({ per: ['tenant'], daily: 0.5 }), 'budget.daily'],
    ['less than nothing', () => budget({ per: ['tenant'], daily: -1 }), 'budget.daily'],
    [
      'a text for dollars',
      () => loosely(budget)({ per: ['tenant'], monthly: '5' }),
      'budget.monthly',
    ],
    ['no models', () => limits({ ...good, models: undefined }), 'modelLimits.models'],
    [
      'no line for others',
      () => limits({ ...good, otherModels: undefined }),
      'modelLimits.otherModels',
    ],
    [
      'an unknown column',
      () => limits({ ...good, models: { a: { tpw: 5 } } }),
      'modelLimits.models.a.tpw',
      'unknown_option',
    ],
    [
      'a limit that is none',
      () => limits({ ...good, models: { a: { rpm: '5' } } }),
      'modelLimits.models.a.rpm',
    ],
    [
      'a model named like those that are not listed',
      () => limits({ ...good, models: { a: { rpm: 1 }, other: { rpm: 5 } } }),
      'modelLimits.models.other',
    ],
    ['a scope that is no name', () => limits({ ...good, scope: 'a b' }), 'modelLimits.scope'],
    ['a count per user alone', () => limits({ ...good, per: ['user'] }), 'modelLimits.per'],
    [
      'nothing to limit',
      () => limits({ per: ['model'], models: {}, otherModels: {} }),
      'modelLimits.models',
    ],
  ]
  mistakesAreNamed(MISTAKES)
})
