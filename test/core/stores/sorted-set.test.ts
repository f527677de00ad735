import { createLimiter, manualClock, slidingWindow } from '@sluice/core'
import { expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { keysUnder } from '../../support/redis.ts'
import { NOON } from '../../support/times.ts'

const shared = sharedRedis()

it('a sliding window is a sorted set for each tenant and endpoint, of ids at their times, and the total', async () => {
  const prefix = freshPrefix()
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store: shared.store(prefix),
    clock,
    policies: [slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant', 'route'] })],
  })
  const chat = { tenant: 'acme', route: 'chat' }
  await limiter.check(chat)
  clock.advance(1_000)
  await limiter.check(chat, { cost: 3 })
  await limiter.check({ ...chat, route: 'search' })
  await limiter.check({ ...chat, tenant: 'globex' })

  const keys = await keysUnder(shared.redis, prefix)
  expect(keys.map((key) => key.split(':').slice(-2))).toEqual([
    ['tenant=acme', 'route=chat'],
    ['tenant=acme', 'route=search'],
    ['tenant=globex', 'route=chat'],
  ])
  const members = await shared.redis.zrange(String(keys[0]), 0, -1, 'WITHSCORES')
  // Unique ids, with the units unless they are 1; before them the member # has the total, made negative.
  expect(members).toEqual([
    '#',
    '-4',
    expect.stringMatching(/^\w+$/),
    String(NOON),
    expect.stringMatching(/^\w+:3$/),
    String(NOON + 1_000),
  ])
  expect(members[2]).not.toBe(members[4]?.replace(':3', ''))
})
