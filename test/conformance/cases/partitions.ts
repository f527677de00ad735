import { fixedWindow, slidingWindow, type Subject } from '@sluice/core'
import type { Store } from '@sluice/core'
import { expect, it } from 'vitest'
import { remaining, spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { setUp } from './case.ts'

const one = slidingWindow({ name: 'p', limit: 1, window: '1m', per: ['tenant', 'user'] })

const LONG = 'x'.repeat(65_536)

/** Each of these pairs of (tenant, user) must have a budget of its own. */
const DISTINCT: readonly (readonly [string, string])[] = [
  ['a:b', 'c'],
  ['a', 'b:c'],
  ['a', 'b'],
  ['a:user=b', 'c'],
  ['a', 'user=b:c'],
  ['a%3A', 'b'],
  ['a:', 'b'],
  ['a%253A', 'b'],
  ['a%3a', 'b'],
  ['{}', 'b'],
  ['{a}', 'b'],
  ['a', '{b}'],
  ['=', '~'],
  ['~', '='],
  ['a\u0000', 'b'],
  ['a', '\u0000b'],
  ['a\n', 'b'],
  ['a\r\n', 'b'],
  ['a ', 'b'],
  [' a', 'b'],
  ['A', 'b'],
  ['a', 'B'],
  ['🙂', 'b'],
  ['🙃', 'b'],
  ['é', 'b'],
  ['e\u0301', 'b'],
  ['\u2028', 'b'],
  ['\u0085', 'b'],
  ['\ufeff', 'b'],
  ['*', 'b'],
  ['?', 'b'],
  ['"', 'b'],
  ['\\', 'b'],
  ["'", 'b'],
  ['$1', 'b'],
  ['$&', 'b'],
  ['%', 'b'],
  ['%25', 'b'],
  ['0', 'b'],
  ['00', 'b'],
  ['global', 'b'],
  ['null', 'undefined'],
  ['__proto__', 'constructor'],
  ['constructor', '__proto__'],
  ['toString', 'hasOwnProperty'],
  [LONG, 'b'],
  [`${LONG}x`, 'b'],
  ['a', LONG],
  [`${LONG.slice(1)}y`, 'b'],
  [`${'k'.repeat(128)}1`, 'b'],
  [`${'k'.repeat(128)}2`, 'b'],
  ['k'.repeat(128), 'b'],
  ['k'.repeat(129), 'b'],
  [`~${'0'.repeat(64)}`, 'b'],
  ['🙂'.repeat(40), 'b'],
  [`${'🙂'.repeat(40)}🙃`, 'b'],
]

const REFUSED: readonly unknown[] = ['', '\ud800', 'a\udc00b', '\udfff\ud800', 7, true, {}, ['a']]

export function partitions(make: () => Store): void {
  it('no two ids meet in one budget, whatever characters they hold', async () => {
    const limiter = setUp(make(), [one])
    for (const [tenant, user] of DISTINCT) {
      await spend(limiter, 1, { tenant, user })
    }
    for (const [tenant, user] of DISTINCT) {
      expect(await limiter.check({ tenant, user })).toMatchObject({ allowed: false })
    }
  })
  it('one id is one budget, in whatever object it stands', async () => {
    const limiter = setUp(make(), [one])
    await spend(limiter, 1, { tenant: 'a', user: 'b' })
    const same: Subject = Object.assign(Object.create(null) as Subject, {
      model: 'x',
      user: 'b',
      tenant: 'a',
    })
    expect(await limiter.check(same)).toMatchObject({ allowed: false })
  })
  it('an id that is empty, malformed or not a string is refused and charged nowhere', async () => {
    const both = fixedWindow({ name: 'all', limit: 1, window: '1h', per: 'global' })
    const limiter = setUp(make(), [both, one])
    for (const user of REFUSED) {
      await expect(limiter.check({ tenant: 'a', user } as Subject)).rejects.toMatchObject({
        name: 'InputError',
        code: 'invalid_subject',
        input: 'subject.user',
      })
    }
    for (const missing of [{ tenant: 'a' }, { tenant: 'a', user: undefined }, {}, []]) {
      await expect(limiter.check(missing as Subject)).rejects.toMatchObject({
        code: 'missing_dimension',
      })
    }
    await spend(limiter, 1, { tenant: 'a', user: 'b' })
  })
  it('names of Object.prototype are ordinary dimensions, units and ids, and never inherited', async () => {
    const limiter = setUp(make(), [
      slidingWindow({
        name: 'constructor',
        limit: 1,
        window: '1m',
        per: ['constructor', 'toString'],
        unit: 'valueOf',
      }),
    ])
    const cost = { valueOf: 1 }
    await expect(limiter.check({ tenant: 'a' }, { cost })).rejects.toMatchObject({
      code: 'missing_dimension',
    })
    const subject = { constructor: 'a', toString: 'b' } as unknown as Subject
    await expect(limiter.check(subject)).rejects.toMatchObject({ code: 'invalid_cost' })
    await spend(limiter, 1, subject, { cost })
    expect(await limiter.check(subject, { cost })).toMatchObject({ allowed: false })
  })
  it('a global policy is one budget for everyone, and no reset of a subject gives it back', async () => {
    const limiter = setUp(make(), [
      slidingWindow({ name: 'all', limit: 3, window: '1m', per: 'global' }),
      slidingWindow({ name: 'own', limit: 2, window: '1m', per: ['tenant'] }),
    ])
    await spend(limiter, 2, { tenant: 'a' })
    await spend(limiter, 1, { tenant: 'b' })
    expect(await limiter.check({ tenant: 'c' })).toMatchObject({ violated: { scope: 'global' } })
    await limiter.reset({ tenant: 'a' })
    expect(remaining(await limiter.peek({ tenant: 'a' }))).toEqual({ all: 0, own: 2 })
  })
  it('a limiter with only global policies resets nothing and reports nothing', async () => {
    const all = fixedWindow({ name: 'all', limit: 1, window: '1h', per: 'global' })
    const limiter = setUp(make(), [all])
    await spend(limiter, 1)
    await limiter.reset(ACME)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false })
  })
  it('a reset of org1 touches neither org1:user2 nor org10, in any policy', async () => {
    const limiter = setUp(make(), [
      slidingWindow({ name: 'p', limit: 1, window: '1m', per: ['tenant'] }),
      fixedWindow({ name: 'q', limit: 1, window: '1h', per: ['tenant'] }),
    ])
    const others = ['org1:user2', 'org10', 'org', 'org1*', 'ORG1', 'org1:', '*', 'org?']
    for (const tenant of ['org1', ...others]) await spend(limiter, 1, { tenant })
    await limiter.reset({ tenant: 'org1' })
    for (const tenant of others) {
      expect(await limiter.check({ tenant })).toMatchObject({ allowed: false })
    }
    await spend(limiter, 1, { tenant: 'org1' })
    await limiter.reset({ tenant: '*' })
    expect(await limiter.check({ tenant: 'org10' })).toMatchObject({ allowed: false })
  })
  it('policies that differ in name, algorithm or window do not share a budget', async () => {
    const store = make()
    const p = { name: 'p', limit: 1, per: ['tenant'] } as const
    await spend(setUp(store, [slidingWindow({ ...p, window: '1m' })]), 1)
    await spend(setUp(store, [slidingWindow({ ...p, window: '2m' })]), 1)
    await spend(setUp(store, [fixedWindow({ ...p, window: '1m' })]), 1)
    await spend(setUp(store, [slidingWindow({ ...p, name: 'q', window: '1m' })]), 1)
    const again = setUp(store, [slidingWindow({ ...p, window: 60_000 })])
    expect(await again.check(ACME)).toMatchObject({ allowed: false })
  })
}
