import {
  backpressure,
  createLimiter,
  dailyCap,
  definePlans,
  InputError,
  rollout,
  slidingWindow,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { setUp } from '../../support/limiters.ts'
import { mistakesAreNamed, loosely, type Mistake } from '../../support/mistakes.ts'

const rpm = slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })

const perRoute = slidingWindow({
  name: 'r',
  limit: ({ route }) => (route === 'chat' ? 3 : 10),
  window: '1m',
  per: ['tenant'],
})

describe('a policy for some routes', () => {
  const search = slidingWindow({
    name: 'search',
    limit: 2,
    window: '1m',
    per: ['tenant'],
    unit: 'query',
    routes: ['search', 'suggest'],
  })
  const { limiter } = setUp([rpm, search])

  it('ignores requests to other routes, and requires no unit of them', async () => {
    const decision = await limiter.check({ tenant: 'a', route: 'chat' })
    expect(decision.skipped).toEqual([{ name: 'search', scope: 'tenant', why: 'other_route' }])
    expect(remaining(decision)).toEqual({ rpm: 4 })
    expect((await limiter.check({ tenant: 'a' })).skipped).toHaveLength(1)
  })
  it('counts requests to its own routes in one budget', async () => {
    const cost = { query: 1 }
    expect(remaining(await limiter.check({ tenant: 'b', route: 'search' }, { cost }))).toEqual({
      rpm: 4,
      search: 1,
    })
    expect(remaining(await limiter.check({ tenant: 'b', route: 'suggest' }, { cost }))).toEqual({
      rpm: 3,
      search: 0,
    })
    expect(await limiter.check({ tenant: 'b', route: 'search' }, { cost })).toMatchObject({
      allowed: false,
      violated: { name: 'search' },
    })
    await expect(limiter.check({ tenant: 'b', route: 'search' })).rejects.toMatchObject({
      code: 'invalid_cost',
      input: 'cost.query',
    })
  })
  it('may have another limit for each route, in one count', async () => {
    const { limiter: byRoute } = setUp([perRoute])
    for (const left of [9, 8, 7]) {
      expect(remaining(await byRoute.check({ tenant: 'a', route: 'x' }))).toEqual({ r: left })
    }
    expect(await byRoute.check({ tenant: 'a', route: 'chat' })).toMatchObject({ allowed: false })
    expect(remaining(await byRoute.check({ tenant: 'a', route: 'x' }))).toEqual({ r: 6 })
  })
})

const perUser = (onMissing: 'error' | 'skip') =>
  slidingWindow({ name: 'user', limit: 2, window: '1m', per: ['user'], onMissing })

describe('a policy per user', () => {
  it('is left out for requests without a user if configured', async () => {
    const { limiter } = setUp([rpm, perUser('skip')])
    const anonymous = await limiter.check({ tenant: 'a' })
    expect(anonymous.skipped).toEqual([{ name: 'user', scope: 'user', why: 'missing_dimension' }])
    expect(anonymous.policies.map(({ name }) => name)).toEqual(['rpm'])
    const known = await limiter.check({ tenant: 'a', user: 'u' })
    expect(remaining(known)).toEqual({ rpm: 3, user: 1 })
  })
  it.each(['', 7, '\ud800'])('is not bypassed by the user %j', async (user) => {
    const { limiter } = setUp([rpm, perUser('skip')])
    const pending = limiter.check({ tenant: 'a', user: user as string })
    await expect(pending).rejects.toBeInstanceOf(InputError)
  })
  it('requires a user by default', async () => {
    const pending = setUp([perUser('error')]).limiter.check({ tenant: 'a' })
    await expect(pending).rejects.toMatchObject({
      code: 'missing_dimension',
      input: 'subject.user',
    })
  })
})

const mustNotRun = (): never => expect.unreachable('The store is asked')

describe('a limit of 0', () => {
  it('allows nothing, and says that waiting does not help', async () => {
    const none = dailyCap({ name: 'daily', limit: 0, per: ['tenant'] })
    const { limiter } = setUp([none, rpm])
    expect(await limiter.check({ tenant: 'a' })).toMatchObject({
      allowed: false,
      reason: 'cost_exceeds_limit',
      retryAfterMs: null,
      violated: { name: 'daily', limit: 0, remaining: 0 },
    })
    expect(remaining(await limiter.peek({ tenant: 'a' }))).toEqual({ daily: 0, rpm: 5 })
  })
})

describe("a limit of 'unlimited'", () => {
  it('does not limit, and the decision reports it', async () => {
    const free = dailyCap({ name: 'daily', limit: 'unlimited', per: ['tenant'] })
    const { limiter } = setUp([free, rpm])
    const decision = await limiter.check({ tenant: 'a' })
    expect(decision.skipped).toEqual([{ name: 'daily', scope: 'tenant', why: 'unlimited' }])
    expect(remaining(decision)).toEqual({ rpm: 4 })
    const alone = await setUp([free]).limiter.check({ tenant: 'a' }, { cost: 10 ** 12 })
    expect(alone).toMatchObject({ allowed: true, policies: [], retryAfterMs: 0 })
  })
  it('asks no store, since there is nothing to count', async () => {
    const store = { ...memory(), check: mustNotRun, settle: mustNotRun }
    const free = dailyCap({ name: 'daily', limit: 'unlimited', per: ['tenant'] })
    const limiter = createLimiter({ store, policies: [free] })
    expect(await limiter.check({ tenant: 'a' })).toMatchObject({
      allowed: true,
      degraded: undefined,
    })
    const decision = await reserve(limiter, { tenant: 'a' })
    expect(decision.allowed && (await decision.cancel())).toMatchObject({ applied: false })
  })
  it('may apply to one plan, and a number to another', async () => {
    const plans = definePlans({ starter: { rpm: 1 }, own: { rpm: 'unlimited' } })
    const perPlan = slidingWindow({
      name: 'rpm',
      limit: ({ plan }) => plan['rpm'],
      window: '1m',
      per: ['tenant'],
    })
    const { limiter } = setUp([perPlan], { plans })
    for (let time = 0; time < 3; time += 1) {
      const decision = await limiter.check({ tenant: 'a', plan: 'own' })
      expect(decision).toMatchObject({ allowed: true, skipped: [{ why: 'unlimited' }] })
    }
    expect((await limiter.check({ tenant: 'a' })).allowed).toBe(true)
    expect((await limiter.check({ tenant: 'a' })).allowed).toBe(false)
    expect((await limiter.check({ tenant: 'a', plan: 'gone' })).planSource).toBe('default')
  })
})

describe('a mistake in the routes or dimensions of a policy is an error that names the option', () => {
  const policy = loosely(slidingWindow)
  const good = { name: 'p', limit: 1, window: '1m', per: ['tenant'] }
  const MISTAKES: Mistake[] = [
    ...[[], 'search', [''], [7], null].map((routes): Mistake => [
      `routes ${JSON.stringify(routes)}`,
      () => policy({ ...good, routes }),
      'slidingWindow.routes',
    ]),
    [
      'an unknown onMissing',
      () => policy({ ...good, onMissing: 'allow' }),
      'slidingWindow.onMissing',
    ],
    ...[-1, 100.1, Number.NaN, '50', null].flatMap((share): Mistake[] => [
      [`enabled ${share}`, () => loosely(rollout)({ enabled: share }), 'rollout.enabled'],
      [`enforced ${share}`, () => loosely(rollout)({ enforced: share }), 'rollout.enforced'],
    ]),
    ['an unknown mode', () => policy({ ...good, mode: 'dry-run' }), 'slidingWindow.mode'],
    ...(['enabled', 'enforced'] as const).flatMap((share): Mistake[] => [
      [
        `a share ${share} of one partition`,
        () => policy({ ...good, per: 'global', rollout: rollout({ [share]: 50 }) }),
        'slidingWindow.rollout',
      ],
      [
        `${share} beside a rollout`,
        () => policy({ ...good, [share]: 50 }),
        `slidingWindow.${share}`,
        'unknown_option',
      ],
    ]),
    [
      'a rollout not made by rollout',
      () => policy({ ...good, rollout: { enabled: 50 } }),
      'slidingWindow.rollout',
    ],
    [
      'an unknown option of a rollout',
      () => loosely(rollout)({ enable: 50 }),
      'rollout.enable',
      'unknown_option',
    ],
    ...[0, 65, 1.5, '8', null].map((stripes): Mistake => [
      `stripes ${stripes}`,
      () => policy({ ...good, stripes }),
      'slidingWindow.stripes',
    ]),
    ...[-0.1, 1, Number.NaN, '0.8'].map((from): Mistake => [
      `backpressure from ${from}`,
      () => loosely(backpressure)({ from }),
      'backpressure.from',
    ]),
    ...[0, 30_001, 1.5, '2s'].map((maxMs): Mistake => [
      `backpressure up to ${maxMs}`,
      () => loosely(backpressure)({ maxMs }),
      'backpressure.maxMs',
    ]),
    [
      'a backpressure not made by backpressure',
      () => policy({ ...good, backpressure: { from: 0.5 } }),
      'slidingWindow.backpressure',
    ],
    [
      'an unknown option of backpressure',
      () => loosely(backpressure)({ max: 5 }),
      'backpressure.max',
      'unknown_option',
    ],
  ]
  mistakesAreNamed(MISTAKES)
})
