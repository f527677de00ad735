import { projectLimits, type Limiter } from '@sluice/core'
import { configure, readConfiguration, removeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { snapshot } from '../../support/redis.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix, storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { app, limitOf } from './support.ts'

/** Units left, by policy. */
async function left(limiter: Limiter, subject: object): Promise<Record<string, number>> {
  const { policies } = await limiter.peek(subject)
  return Object.fromEntries(policies.map(({ name, remaining }) => [name, remaining]))
}

const U1 = { tenant: 'acme', user: 'u1' }

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  it('a reset covers all policies except global ones, or the named ones', async () => {
    const limiter = app(make()).isolate()
    for (let time = 0; time < 3; time += 1) await limiter.check(U1)
    await limiter.reset(U1, { policies: ['byUser'] })
    expect(await left(limiter, U1)).toEqual({ rpm: 7, byUser: 20, bucket: 37, all: 997 })
    await limiter.reset(U1, { policies: [] })
    expect(await left(limiter, U1)).toEqual({ rpm: 7, byUser: 20, bucket: 37, all: 997 })
    await limiter.reset(U1)
    expect(await left(limiter, U1)).toEqual({ rpm: 10, byUser: 20, bucket: 40, all: 997 })
    await limiter.reset(U1, { policies: ['all'] })
    expect(await left(limiter, U1)).toEqual({ rpm: 10, byUser: 20, bucket: 40, all: 1_000 })
  })

  it('a reset leaves out a policy that is skipped without its dimension; any other is an error', async () => {
    const limiter = app(make()).isolate()
    await limiter.check(U1)
    await limiter.reset(ACME)
    expect(await left(limiter, U1)).toEqual({ rpm: 10, byUser: 19, bucket: 40, all: 999 })
    await limiter.reset(ACME, { policies: ['byUser'] })
    expect(await left(limiter, U1)).toMatchObject({ byUser: 19 })
    await limiter.check(U1)
    await expect(limiter.reset({ user: 'u1' })).rejects.toMatchObject({ code: 'missing_dimension' })
    expect(await left(limiter, U1)).toEqual({ rpm: 9, byUser: 18, bucket: 39, all: 998 })
  })

  it('a reset keeps the settings, and removing them is for that partition only', async () => {
    const { isolate } = app(make())
    const [limiter, other] = [isolate(), isolate()]
    const u2 = { ...U1, user: 'u2' }
    await configure(limiter, { rpm: { limit: 5 } })
    await configure(limiter, { rpm: { limit: 6 }, byUser: { limit: 7 } }, U1)
    await configure(limiter, { byUser: { limit: 8 } }, u2)
    await configure(limiter, { rpm: { limit: 9 } }, { tenant: 'acme2' })
    await limiter.check(U1)
    await limiter.reset(U1)
    expect(await left(limiter, U1)).toMatchObject({ rpm: 6, byUser: 7 })
    await removeConfiguration(limiter, U1, { policies: ['byUser'] })
    expect(await left(limiter, U1)).toMatchObject({ rpm: 6, byUser: 20 })
    await removeConfiguration(limiter, U1)
    expect(await left(limiter, U1)).toMatchObject({ rpm: 5, byUser: 20 })
    expect(await readConfiguration(limiter)).toEqual([
      { policy: 'rpm', settings: { limit: 5 } },
      { policy: 'byUser', subject: u2, settings: { limit: 8 } },
      { policy: 'rpm', subject: { tenant: 'acme2' }, settings: { limit: 9 } },
    ])
    expect(await limitOf(other, 'rpm', U1)).toBe(5)
  })
})

describe('over Redis', () => {
  const shared = sharedRedisOverHttp()
  const ids = [
    'org1',
    'org1:user2',
    'org10',
    'org',
    'org1*',
    '*',
    'org?',
    'org[1]',
    'ORG1',
    '%',
    'org%31',
    'org1:plan',
    'tenant=org1',
    'a:b',
    'config',
    'default',
    'x'.repeat(200),
  ]

  it.each(ids)('a reset of %j changes no byte of any other id', async (tenant) => {
    const prefix = freshPrefix()
    const limiter = app(shared.store(prefix)).isolate()
    for (const id of ids) {
      for (const user of ['u1', 'u2', `${id}:u1`, '*']) await limiter.check({ tenant: id, user })
    }
    await configure(limiter, { rpm: { limit: 6 } }, { tenant: 'a' })
    const before = await snapshot(shared.redis, prefix)
    await limiter.reset({ tenant, user: 'u1' })
    const after = await snapshot(shared.redis, prefix)
    const gone = Object.keys(before).filter((key) => !(key in after))
    // Of this tenant: its requests, its user's, and its bucket.
    expect(gone).toHaveLength(3)
    for (const key of gone) delete before[key]
    expect(after).toEqual(before)
    expect((await limiter.peek({ tenant, user: 'u1' })).policies[0]?.remaining).toBe(10)
  })

  it('a reset is one DEL of exact keys: no SCAN, no KEYS, no pattern', async () => {
    const { url, token } = shared.local
    const sent: string[] = []
    const store = upstash({
      url,
      token,
      prefix: 'app',
      timeoutMs: 30_000,
      fetch: (to, init) => {
        sent.push(init.body)
        return fetch(to, init)
      },
    })
    await app(store).isolate().reset(U1)
    expect(sent.map((body) => JSON.parse(body) as unknown)).toEqual([
      [
        'DEL',
        expect.stringMatching(/^app:rpm:[\w-]+:tenant=acme$/),
        expect.stringMatching(/^app:byUser:[\w-]+:tenant=acme:user=u1$/),
        expect.stringMatching(/^app:bucket:[\w-]+:tenant=acme$/),
        expect.stringMatching(/^app:later:[\w-]+:tenant=acme$/),
      ],
    ])
  })
})

describe('a mistake in a reset is an error, and nothing is reset:', () => {
  it.each<[string, unknown, string]>([
    ['an unknown option', { policy: ['rpm'] }, 'reset.policy'],
    ['an unknown policy', { policies: ['rpm', 'rmp'] }, 'reset.policies'],
    ['an inherited one', { policies: ['constructor'] }, 'reset.policies'],
    ['a name in place of a list', { policies: 'rpm' }, 'reset.policies'],
    ['null', null, 'reset'],
  ])('%s', async (_, options, option) => {
    const limiter = app(memory()).isolate()
    await limiter.check(ACME)
    await expect(limiter.reset(ACME, options as never)).rejects.toMatchObject({
      name: 'ConfigError',
      option,
    })
    expect(await left(limiter, ACME)).toMatchObject({ rpm: 9 })
  })

  it('one window of a log', async () => {
    const { limiter } = setUp([projectLimits({ per: ['tenant'] })])
    await limiter.check(ACME)
    const one = limiter.reset(ACME, { policies: ['project.minute', 'project.hour'] })
    await expect(one).rejects.toThrow(
      'reset.policies: must name project.minute, project.hour, project.day together',
    )
    expect(await left(limiter, ACME)).toMatchObject({ 'project.minute': 59, 'project.day': 9_999 })
    await limiter.reset(ACME, { policies: ['project.minute', 'project.hour', 'project.day'] })
    expect(await left(limiter, ACME)).toMatchObject({ 'project.minute': 60 })
  })
})
