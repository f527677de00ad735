import { createLimiter, definePlans, fixedWindow, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { invalidatePlan, planResolver } from '@sluice/core/plans'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'
import { isolates } from './support.ts'

const planOf = () => 'starter'
const resolver = (options: unknown): unknown => planResolver(planOf, options as never)
const policies = [fixedWindow({ name: 'p', limit: 1, window: '1h', per: ['tenant'] })]
const plans = definePlans({ starter: { rpm: 1 } })
const limiter = (options: object): unknown =>
  loosely(createLimiter)({ store: memory(), policies, ...options })

const MISTAKES: Mistake[] = [
  ['no function', () => loosely(planResolver)(undefined), 'planResolver'],
  ['plans in place of a function', () => loosely(planResolver)({ acme: 'growth' }), 'planResolver'],
  ['options that are null', () => resolver(null), 'planResolver'],
  ['an unknown option', () => resolver({ ttl: '5m' }), 'planResolver.ttl', 'unknown_option'],
  [
    'a cacheFor without a unit',
    () => resolver({ cacheFor: '5' }),
    'planResolver.cacheFor',
    'invalid_duration',
  ],
  ['a cacheFor of 0', () => resolver({ cacheFor: 0 }), 'planResolver.cacheFor', 'invalid_duration'],
  ['a timeout of 0', () => resolver({ timeoutMs: 0 }), 'planResolver.timeoutMs'],
  ['a timeout that is text', () => resolver({ timeoutMs: '1s' }), 'planResolver.timeoutMs'],
  ['an endless timeout', () => resolver({ timeoutMs: Infinity }), 'planResolver.timeoutMs'],
  ['an empty dimension', () => resolver({ by: '' }), 'planResolver.by'],
  ['a list of dimensions', () => resolver({ by: ['tenant'] }), 'planResolver.by'],
  ['a dimension named __proto__', () => resolver({ by: '__proto__' }), 'planResolver.by'],
  ['a resolver without plans', () => limiter({ extensions: [planResolver(planOf)] }), 'plans'],
  ['a bare function', () => limiter({ plans, extensions: [planOf] }), 'extensions'],
  [
    'a resolver out of its list',
    () => limiter({ plans, extensions: planResolver(planOf) }),
    'extensions',
  ],
]

describe('a mistake in a plan resolver is an error that names the option', () => {
  mistakesAreNamed(MISTAKES)
})

describe('an invalidation', () => {
  it('without a resolver is an error that names the missing option', async () => {
    const plain = createLimiter({ store: memory(), policies, plans })
    await expect(invalidatePlan(plain, 'acme')).rejects.toMatchObject({
      name: 'ConfigError',
      option: 'limiter',
      message: expect.stringContaining('planResolver(…)') as string,
    })
  })

  it.each(['', 7, null, undefined, {}, '\ud800'])('of %j is refused', async (id) => {
    const { limiters } = isolates(1, memory())
    await expect(invalidatePlan(limiters[0] as Limiter, id as never)).rejects.toMatchObject({
      name: 'InputError',
      input: 'subject.tenant',
    })
  })
})

it('a waitUntil that is not a function is refused, and nothing is charged', async () => {
  const { limiters } = isolates(1, memory())
  const options = { waitUntil: 'later' as never }
  await expect(limiters[0]?.check({ tenant: 'acme' }, options)).rejects.toMatchObject({
    name: 'InputError',
    input: 'options',
  })
})
