import { manualClock } from '@sluice/core'
import { exportCredits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, NOON } from '../../support/times.ts'
import { ACME, give, lawful, limiterOn } from './support.ts'

const redis = sharedRedis()
const PAID = { amount: 1, at: NOON, kind: 'paid' } as const

describe.each(['memory', 'redis'] as const)('a balance in %s', (name) => {
  const make = () => (name === 'memory' ? memory() : redis.store())

  it('knows 10,000 ids, and none more until some are 90 days old', async () => {
    const clock = manualClock(NOON)
    const limiter = limiterOn(make(), {}, { clock })
    for (let n = 0; n < 10_000; n += 500) {
      const ids = Array.from({ length: 500 }, (_, at) => `g${n + at}`)
      await Promise.all(ids.map((id) => give(limiter, 1, id)))
    }
    await expect(give(limiter, 1, 'more')).rejects.toMatchObject({ code: 'too_many_grants' })
    expect((await give(limiter, 1, 'g9999')).applied).toBe(false)
    clock.advance(90 * DAY)
    const now = { ...PAID, at: clock() }
    expect((await give(limiter, 1, 'g0')).applied).toBe(false)
    await expect(grant(limiter, ACME, { ...now, id: 'more' })).rejects.toMatchObject({
      code: 'too_many_grants',
    })
    clock.advance(1)
    // There is room now, but a refusal writes nothing.
    const before = await exportCredits(limiter, ACME)
    const tooLarge = { ...now, amount: 10 ** 14, id: 'large' }
    await expect(grant(limiter, ACME, tooLarge)).rejects.toMatchObject({
      code: 'balance_too_large',
    })
    expect(await exportCredits(limiter, ACME)).toBe(before)
    expect((await grant(limiter, ACME, { ...now, id: 'more' })).applied).toBe(true)
    expect((await lawful(limiter)).balance).toBe(10_001)
  })
})
