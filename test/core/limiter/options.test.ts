import { createLimiter, definePlans, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'

const limiter = loosely(createLimiter)
const plansOf = (set: unknown, options?: unknown): unknown =>
  definePlans(set as never, options as never)

const good = { name: 'p', limit: 1, window: '1m', per: ['tenant'] }
const policy = slidingWindow({ name: 'p', limit: 1, window: '1m', per: ['tenant'] })
const policies = [policy]
const forged = (changes: object): unknown =>
  limiter({ store: memory(), policies: [() => [{ ...policy()[0], ...changes }]] })

const misspelt = slidingWindow({
  name: 'rpm',
  limit: ({ plan }) => plan['rmp'],
  window: '1m',
  per: ['tenant'],
})
const plans = definePlans({ starter: { rpm: 1 }, growth: { rpm: 2 } })

const halved = slidingWindow({
  name: 'rpm',
  limit: ({ plan }) => Number(plan['rpm']) / 2,
  window: '1m',
  per: ['tenant'],
})

const unconfigured = slidingWindow({
  name: 'rpm',
  limit: () => 'configured' as never,
  window: '1m',
  per: ['tenant'],
})

const LIMITERS: Mistake[] = [
  ['no options', () => limiter(undefined), 'createLimiter'],
  [
    'an unknown option',
    () => limiter({ store: memory(), policies, onError: 'deny' }),
    'createLimiter.onError',
    'unknown_option',
  ],
  ['no store', () => limiter({ policies }), 'store'],
  ['a store that is none', () => limiter({ store: {}, policies }), 'store'],
  ['a store that is null', () => limiter({ store: null, policies }), 'store'],
  ['a store not yet made', () => limiter({ store: memory, policies }), 'store'],
  ['no policies', () => limiter({ store: memory() }), 'policies'],
  ['an empty list of policies', () => limiter({ store: memory(), policies: [] }), 'policies'],
  ['one policy, no list', () => limiter({ store: memory(), policies: policy }), 'policies'],
  [
    'options in place of a policy',
    () => limiter({ store: memory(), policies: [good] }),
    'policies[0]',
  ],
  [
    'a hole among the policies',
    () => limiter({ store: memory(), policies: [undefined] }),
    'policies[0]',
  ],
  ['a forged limit', () => forged({ limit: 1.5 }), 'policies.p.limit'],
  ['a forged per', () => forged({ per: [] }), 'policies[0].per'],
  ['a forged name', () => forged({ name: 'a:b' }), 'policies[0].name'],
  [
    'a name twice',
    () => limiter({ store: memory(), policies: [policy, policy] }),
    'policies[1]',
    'duplicate_policy',
  ],
  [
    'a bad onStoreError',
    () => limiter({ store: memory(), policies, onStoreError: 'open' }),
    'onStoreError',
  ],
  [
    'an onStoreError that is a number',
    () => limiter({ store: memory(), policies, onStoreError: 7 }),
    'onStoreError',
  ],
  ['a clock that is a number', () => limiter({ store: memory(), policies, clock: 7 }), 'clock'],
  ['a clock that is null', () => limiter({ store: memory(), policies, clock: null }), 'clock'],
  ['plans that are null', () => limiter({ store: memory(), policies, plans: null }), 'plans'],
  [
    'plans not made by definePlans',
    () => limiter({ store: memory(), policies, plans: { starter: { rpm: 1 } } }),
    'plans',
  ],
  [
    'a misspelt limit',
    () => limiter({ store: memory(), policies: [misspelt], plans }),
    'policies.rpm.limit for plan "starter"',
  ],
  [
    'a limit of plans, without plans',
    () => limiter({ store: memory(), policies: [misspelt] }),
    'policies.rpm.limit',
  ],
  [
    'a limit that is wrong for one plan only',
    () => limiter({ store: memory(), plans, policies: [halved] }),
    'policies.rpm.limit for plan "starter"',
  ],
  [
    'a limit that a function leaves to be configured',
    () => limiter({ store: memory(), policies: [unconfigured] }),
    'policies.rpm.limit',
  ],
]

const PLANS: Mistake[] = [
  ['no plans', () => plansOf(undefined), 'definePlans'],
  ['null for plans', () => plansOf(null), 'definePlans'],
  ['an empty set', () => plansOf({}), 'definePlans'],
  ['a plan that is null', () => plansOf({ starter: null }), 'definePlans.starter'],
  [
    'a plan that is a number',
    () => plansOf({ starter: { rpm: 1 }, growth: 7 }),
    'definePlans.growth',
  ],
  [
    'a limit missing from one plan',
    () => plansOf({ a: { rpm: 1, day: 2 }, b: { rpm: 1 } }),
    'definePlans.b.day',
  ],
  [
    'a limit that only a later plan has',
    () => plansOf({ a: { rpm: 1 }, b: { rpm: 1, day: 2 } }),
    'definePlans.b.day',
    'unknown_option',
  ],
  ['a limit of 1.5', () => plansOf({ a: { rpm: 1.5 } }), 'definePlans.a.rpm'],
  ['a limit that is NaN', () => plansOf({ a: { rpm: Number.NaN } }), 'definePlans.a.rpm'],
  ['a plan with a strange name', () => plansOf({ 'a b': { rpm: 1 } }), 'definePlans.a b'],
  [
    'a plan named __proto__',
    () => plansOf(JSON.parse('{"__proto__":{"rpm":1}}')),
    'definePlans.__proto__',
  ],
  [
    'a default that is no plan',
    () => plansOf({ a: { rpm: 1 } }, { defaultPlan: 'b' }),
    'definePlans.defaultPlan',
  ],
  [
    'an inherited default',
    () => plansOf({ a: { rpm: 1 } }, { defaultPlan: 'toString' }),
    'definePlans.defaultPlan',
  ],
  [
    'an unknown option',
    () => plansOf({ a: { rpm: 1 } }, { fallback: 'a' }),
    'definePlans options.fallback',
    'unknown_option',
  ],
]

describe('a mistake in the options of a limiter is an error that names the option', () => {
  mistakesAreNamed(LIMITERS)
})

describe('a mistake in plans is an error that names the plan and the limit', () => {
  mistakesAreNamed(PLANS)
})

it('the error of a misspelt limit lists the limits of the plan, if there are plans', () => {
  expect(() => limiter({ store: memory(), policies: [misspelt], plans })).toThrow(
    /^Sluice: policies\.rpm\.limit for plan "starter": .*; the plan has: rpm \(given: undefined\)/,
  )
  expect(() => limiter({ store: memory(), policies: [misspelt] })).toThrow(/^(?!.*the plan has)/)
})
