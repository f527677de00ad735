import { startLocal } from '@sluice/local'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { keysUnder } from '../../support/redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { limiterOf, redisWithUsers } from './restricted-users.ts'

const own = redisWithUsers()

describe('a script', () => {
  it('touches only the keys that it declares, so a user with rights to no other keys gets decisions', async () => {
    const open = await startLocal({ redisUrl: own.url })
    const prefix = freshPrefix()
    await limiterOf(open, prefix).check(ACME)
    const keys = await keysUnder(own.redis, prefix)
    expect(keys).toHaveLength(2)
    const local = await own.restricted('narrow', ...keys.map((key) => `~${key}`), '+@all')
    const limiter = limiterOf(local, prefix)
    for (const remaining of [2, 1, 0, 0]) {
      const decision = await limiter.check(ACME)
      expect(decision.degraded).toBeUndefined()
      expect(decision.policies.map((policy) => policy.remaining)).toEqual([remaining, remaining])
    }
    await limiter.reset(ACME)
    expect((await limiter.peek(ACME)).policies[0]?.remaining).toBe(4)
    // The user is restricted indeed.
    expect((await limiter.check({ tenant: 'other' })).degraded?.cause).toBe('store_refused')
    await local.close()
    await open.close()
  })

  it('runs only the commands that the page of performance lists', async () => {
    const commands = 'evalsha eval time get set zrange zadd zremrangebyscore pexpire del'
    const local = await own.restricted(
      'frugal',
      '~*',
      '-@all',
      '+ping',
      '+info',
      '+hello',
      '+select',
      ...commands.split(' ').map((name) => `+${name}`),
    )
    const limiter = limiterOf(local)
    for (let time = 0; time < 6; time += 1) {
      expect((await limiter.check(ACME)).degraded).toBeUndefined()
    }
    await limiter.reset(ACME)
    await local.close()
  })
})
