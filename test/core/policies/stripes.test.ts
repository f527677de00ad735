import { slidingWindow, type Policy } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { keysUnder } from '../../support/redis.ts'
import { sharedRedis } from '../../support/running-redis.ts'

const shared = sharedRedis()

const everyone = (limit: number, stripes: number): Policy =>
  slidingWindow({ name: 'all', limit, window: '1h', per: 'global', stripes })

describe('a policy in stripes', () => {
  it.each([
    [100, 8],
    [7, 4],
    [3, 8],
    [1, 64],
  ])('of %i in %i allows exactly its limit, however many ask at once', async (limit, stripes) => {
    const { limiter, prefix } = shared.setUp([everyone(limit, stripes)])
    let allowed = 0
    for (let round = 0; round < 8; round += 1) {
      const pending = Array.from({ length: 4 * limit }, () => limiter.check({}))
      allowed += (await Promise.all(pending)).filter((decision) => decision.allowed).length
    }
    // Asked often enough, every part is found and spent.
    expect(allowed).toBe(limit)
    expect(await keysUnder(shared.redis, prefix)).toHaveLength(Math.min(limit, stripes))
  })
  it('counts a request in one key, and resets all of them', async () => {
    const perTenant = slidingWindow({
      name: 'rpm',
      limit: 40,
      window: '1h',
      per: ['tenant'],
      stripes: 4,
    })
    const { limiter, prefix } = shared.setUp([perTenant])
    const decision = await limiter.check({ tenant: 'a' })
    expect(decision.policies[0]).toMatchObject({ limit: 40, remaining: 9 })
    expect(await keysUnder(shared.redis, prefix)).toHaveLength(1)
    await Promise.all(Array.from({ length: 40 }, () => limiter.check({ tenant: 'a' })))
    expect(await keysUnder(shared.redis, prefix)).toHaveLength(4)
    await limiter.reset({ tenant: 'a' })
    expect(await keysUnder(shared.redis, prefix)).toEqual([])
  })
  it('finds a stripe that has room for the cost', async () => {
    const { limiter } = shared.setUp([everyone(10, 3)])
    for (let time = 0; time < 30; time += 1) {
      expect((await limiter.peek({}, { cost: 4 })).allowed).toBe(true)
    }
  })
  it('never fits a cost above the size of a stripe', async () => {
    const { limiter } = shared.setUp([everyone(100, 8)])
    expect(await limiter.check({}, { cost: 14 })).toMatchObject({ reason: 'cost_exceeds_limit' })
    expect(await limiter.check({}, { cost: 12 })).toMatchObject({ allowed: true })
  })
})
