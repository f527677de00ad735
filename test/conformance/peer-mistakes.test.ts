import {
  dailyCap,
  fixedWindow,
  manualClock,
  slidingWindow,
  type Limiter,
  type Policy,
} from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { keysUnder } from '../support/redis.ts'
import { sharedRedis } from '../support/running-redis.ts'
import { NOON, MINUTE } from '../support/times.ts'

const per = ['tenant']

const shared = sharedRedis()

function setUp(...policies: Policy[]) {
  const clock = manualClock(NOON)
  return { ...shared.setUp(policies, { clock }), clock }
}

/** Checks one request after another; how many were allowed. */
async function countAllowed(limiter: Limiter, times: number, tenant = 'acme'): Promise<number> {
  let allowed = 0
  for (let time = 0; time < times; time += 1) {
    if ((await limiter.check({ tenant })).allowed) allowed += 1
  }
  return allowed
}

// Measured of limiters in wide use; each is a claim about ours.
describe('known mistakes of other limiters do not happen on Redis:', () => {
  it('a cost of 7 out of 10 is denied the second time, and 3 are left', async () => {
    const { limiter } = setUp(slidingWindow({ name: 'p', limit: 10, window: '1m', per }))
    const ask = () => limiter.check({ tenant: 'acme' }, { cost: 7 })
    expect(await ask()).toMatchObject({ allowed: true, policies: [{ remaining: 3 }] })
    expect(await ask()).toMatchObject({ allowed: false, policies: [{ remaining: 3 }] })
    expect(await countAllowed(limiter, 10)).toBe(3)
  })

  it('no trailing minute holds more than the limit, where two buckets allow twice as much', async () => {
    const { limiter, clock } = setUp(slidingWindow({ name: 'p', limit: 100, window: '1m', per }))
    // All at the end of one clock minute, then as early as possible in those after it.
    clock.set(NOON + MINUTE - 1)
    expect(await countAllowed(limiter, 120)).toBe(100)
    for (const after of [1, 1_000, MINUTE / 2, MINUTE - 1]) {
      clock.set(NOON + MINUTE - 1 + after)
      expect(await countAllowed(limiter, 5)).toBe(0)
    }
    clock.set(NOON + 2 * MINUTE - 1)
    expect(await countAllowed(limiter, 120)).toBe(100)
  })

  it('a request that the rate denies does not use up the quota', async () => {
    const { limiter } = setUp(
      dailyCap({ name: 'daily', limit: 100, per }),
      slidingWindow({ name: 'rpm', limit: 5, window: '1m', per }),
    )
    expect(await countAllowed(limiter, 50)).toBe(5)
    const { policies } = await limiter.peek({ tenant: 'acme' })
    expect(policies.map(({ remaining }) => remaining)).toEqual([95, 0])
  })

  it('every key has a TTL, and 2,000 denied ids leave no key at all', async () => {
    const { limiter, prefix } = setUp(
      fixedWindow({ name: 'f', limit: 2, window: '1h', per }),
      slidingWindow({ name: 's', limit: 2, window: '1m', per }),
    )
    await countAllowed(limiter, 5)
    const keys = await keysUnder(shared.redis, prefix)
    expect(keys).toHaveLength(2)
    for (const key of keys) expect(await shared.redis.pttl(key)).toBeGreaterThan(0)
    for (let id = 0; id < 2_000; id += 1) {
      await limiter.check({ tenant: `t${id}` }, { cost: 3 })
    }
    expect(await keysUnder(shared.redis, prefix)).toEqual(keys)
  })

  it('a reset of org1 leaves org1:user2 and org10 as they are', async () => {
    const { limiter } = setUp(slidingWindow({ name: 'p', limit: 1, window: '1m', per }))
    for (const tenant of ['org1', 'org1:user2', 'org10']) await limiter.check({ tenant })
    await limiter.reset({ tenant: 'org1' })
    expect(await countAllowed(limiter, 1, 'org1:user2')).toBe(0)
    expect(await countAllowed(limiter, 1, 'org10')).toBe(0)
    expect(await countAllowed(limiter, 1, 'org1')).toBe(1)
  })
})
