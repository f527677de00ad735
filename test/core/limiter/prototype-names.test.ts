import {
  definePlans,
  fixedWindow,
  listen,
  type DeniedDecision,
  type Limiter,
  type Subject,
} from '@sluice/core'
import {
  configure,
  configured,
  removeConfiguration,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { tooManyRequests, rateLimitHeaders } from '@sluice/core/http'
import { invalidatePlan, planResolver } from '@sluice/core/plans'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'

/** Names that every object has, which are ids like any other here. */
const NAMES = [
  'constructor',
  '__proto__',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'isPrototypeOf',
  '__defineGetter__',
  'then',
  'length',
] as const

const plans = definePlans({ starter: { rpm: 2 }, growth: { rpm: 4 } })
const perTenant = fixedWindow({
  name: 'rpm',
  limit: ({ plan }) => plan['rpm'],
  window: '1h',
  per: ['tenant'],
})

/** Parses JSON, which makes `__proto__` an own property. */
const parsed = (text: string): Subject => JSON.parse(text) as Subject

function limiterOf(answer: string): Limiter {
  return setUp([perTenant], {
    plans,
    extensions: [
      planResolver(() => answer),
      runtimeConfiguration({ allow: { rpm: ['limit'] } }),
      listen({ problem: () => {} }),
    ],
  }).limiter
}

describe.each(NAMES)('%s', (name) => {
  it('as a plan, of a subject or of a resolver, is unknown: the default plan applies', async () => {
    const limiter = limiterOf(name)
    for (const subject of [{ tenant: 'a', plan: name }, { tenant: 'a' }]) {
      expect(await limiter.peek(subject)).toMatchObject({
        plan: 'starter',
        planSource: 'default',
        policies: [{ limit: 2 }],
      })
    }
    expect(plans.get(name)).toBeUndefined()
  })

  it('as a tenant has a budget, a plan and a configuration of its own, like any other', async () => {
    const limiter = limiterOf('growth')
    for (const tenant of NAMES) {
      const { plan, policies } = await limiter.check({ tenant })
      expect([plan, policies[0]?.remaining]).toEqual(['growth', 3])
    }
    await configure(limiter, { rpm: { limit: 9 } }, { tenant: name })
    await invalidatePlan(limiter, name)
    for (const tenant of NAMES) {
      const { policies } = await limiter.peek({ tenant })
      expect([tenant, policies[0]?.limit]).toEqual([tenant, tenant === name ? 9 : 4])
    }
    await limiter.reset({ tenant: name })
    await removeConfiguration(limiter, { tenant: name })
    for (const tenant of NAMES) {
      const { policies } = await limiter.peek({ tenant })
      expect([tenant, policies[0]?.remaining]).toEqual([tenant, tenant === name ? 4 : 3])
    }
  })

  it('as a route has a budget of its own, and does not count in policies for other routes', async () => {
    const { limiter } = setUp([
      fixedWindow({ name: 'byRoute', limit: 2, window: '1h', per: ['route'] }),
      fixedWindow({ name: 'chat', limit: 1, window: '1h', per: 'global', routes: ['chat'] }),
    ])
    for (const route of NAMES) {
      const decision = await limiter.check({ route })
      expect(decision.policies.map((policy) => [policy.name, policy.remaining])).toEqual([
        ['byRoute', 1],
      ])
      expect(decision.skipped).toMatchObject([{ name: 'chat', why: 'other_route' }])
    }
  })

  it('as a unit that no policy counts is refused, even as an own property', async () => {
    const limiter = limiterOf('growth')
    const costs = [{ [name]: 1 }, JSON.parse(`{"${name}":1}`) as Record<string, number>]
    for (const cost of costs) {
      const error: unknown = await limiter
        .check({ tenant: 'a' }, { cost })
        .catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ name: 'InputError', code: 'invalid_cost' })
    }
    expect((await limiter.peek({ tenant: 'a' })).policies[0]?.remaining).toBe(4)
  })

  it('as a dimension is not read from the prototype', async () => {
    if (!/^[a-z]/i.test(name)) return
    const { limiter } = setUp([fixedWindow({ name: 'p', limit: 2, window: '1h', per: [name] })])
    await expect(limiter.check({ tenant: 'a' })).rejects.toMatchObject({
      code: 'missing_dimension',
    })
    const own = parsed(`{"${name}":"a"}`)
    expect((await limiter.check(own)).policies[0]?.remaining).toBe(1)
    expect((await limiter.peek({ ...own })).policies[0]?.remaining).toBe(1)
  })

  it('as an option or as a setting is unknown', async () => {
    const limiter = limiterOf('growth')
    const options = parsed(`{"${name}":1}`)
    await expect(limiter.check({ tenant: 'a' }, options as never)).rejects.toThrow(/options/)
    await expect(configure(limiter, options as never)).rejects.toMatchObject({
      code: 'unknown_option',
    })
    await expect(configure(limiter, { rpm: options as never })).rejects.toMatchObject({
      code: 'unknown_option',
    })
    await expect(limiter.reset({ tenant: 'a' }, options as never)).rejects.toMatchObject({
      code: 'unknown_option',
    })
    expect(await configured(limiter)).toEqual([])
  })
})

it('policies, units and plans may have such names if they are valid names', async () => {
  const name = 'constructor'
  const { limiter } = setUp(
    [
      fixedWindow({
        name,
        limit: ({ plan }) => plan[name],
        window: '1h',
        per: ['tenant'],
        unit: 'valueOf',
      }),
    ],
    {
      plans: definePlans({ [name]: { [name]: 1 }, toString: { [name]: 2 } }),
      extensions: [runtimeConfiguration({ allow: { [name]: ['limit' as const] } })],
    },
  )
  const cost = { valueOf: 1 }
  const ask = (plan?: string) => limiter.check({ tenant: 'a', plan }, { cost })
  expect(await ask('toString')).toMatchObject({ plan: 'toString', policies: [{ limit: 2 }] })
  const denied = await ask()
  expect(denied).toMatchObject({ allowed: false, plan: name, violated: { name } })
  expect(JSON.stringify(rateLimitHeaders(denied))).toContain('constructor')
  expect(await tooManyRequests(denied as DeniedDecision).text()).toContain('"error"')
  await configure(limiter, { [name]: { limit: 3 } })
  expect(await ask()).toMatchObject({ allowed: true, policies: [{ limit: 3 }] })
})
