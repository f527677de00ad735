import { createLimiter, type Policy } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { KINDS, type Kind } from '../../support/kinds.ts'
import { ACME } from '../../support/limiters.ts'
import { keysUnder, snapshot } from '../../support/redis.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'

/** The expiry of a key that has none. */
const FOREVER = -1

const shared = sharedRedis()

type Write = (redis: Redis, key: string) => Promise<unknown>

const text =
  (value: string): Write =>
  (redis, key) =>
    redis.set(key, value)
const members =
  (...scored: (string | number)[]): Write =>
  (redis, key) =>
    redis.zadd(key, ...scored)

/** Data that another program may have written under our key. */
const FOREIGN: readonly (readonly [kind: Kind, what: string, write: Write])[] = [
  ['calls in flight', "another's sorted set", members(1, 'alice')],
  [
    'calls in flight',
    "another's sorted set of the future",
    members(9e15, 'alice', 9e15, 'call:b c'),
  ],
  ['counter', 'a number', text('17')],
  ['counter', 'numbers below 0', text('-5:-7')],
  ['counter', 'six numbers', text('1:2:3:4:5:6')],
  ['counter', 'more counts than segments', text('c9000000000:1:2:3:4:5:6:7:8')],
  ['sliding window', 'a sum of 0', members(0, '#')],
  ['sliding window', 'a sum that is no whole number', members(-1.5, '#', 1, 'x')],
  ['sliding window', 'a first member that is no sum', members(-5, 'alice')],
  ['sliding window', 'a member before the sum', members(-5, '!', -1, '#', 1, 'x')],
  ['sliding window', 'a member that is no request', members(-1, '#', 1, 'someone else')],
  ['sliding windows', "another's sorted set", members(1, 'alice')],
  ['sliding windows', 'a sum that is too short', members(1, '12:1')],
  ['fixed window', 'two numbers', text('5:7')],
  ['fixed window', 'a count below 0', text('w5:-7')],
  ['daily cap', 'a number', text('17')],
  ['monthly cap', 'a number', text('17')],
  ['session window', 'three numbers', text('1:2:3')],
  ['session window', 'a count below 0', text('s1:2:-3')],
  ['session of a length', 'a number', text('17')],
  ['session of a length with pauses', 'a count below 0', text('s1:2:-3')],
  ['token bucket', 'three numbers', text('1:2:3')],
  ['token bucket', 'a limit of 0', text('b1:2:0')],
  ['token bucket of intervals', 'three numbers', text('1:2:3')],
  ['leaky bucket', 'three numbers', text('1:2:3')],
  ['leaky bucket that waits', 'three numbers', text('1:2:3')],
]

describe.each(FOREIGN)('a %s whose key holds %s', (kind, _what, write) => {
  it.each(['before', 'after'])(
    'degrades a decision with another policy %s it, and stays unchanged',
    async (position) => {
      const prefix = freshPrefix()
      const broken = KINDS[kind]('broken', 9)
      const other = KINDS[kind === 'daily cap' ? 'fixed window' : 'daily cap']('other', 9)
      const policies: Policy[] = position === 'before' ? [other, broken] : [broken, other]
      const limiter = createLimiter({ store: shared.store(prefix), policies, onStoreError: 'deny' })
      expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: undefined })
      const [key = ''] = await keysUnder(shared.redis, `${prefix}:broken`)
      await shared.redis.del(key)
      await write(shared.redis, key)
      const before = await snapshot(shared.redis, prefix, FOREVER)
      expect(Object.keys(before)).toHaveLength(2)
      for (const ask of [() => limiter.check(ACME), () => limiter.peek(ACME)]) {
        expect((await ask()).degraded).toEqual({ cause: 'store_refused', mode: 'deny' })
      }
      expect(await snapshot(shared.redis, prefix, FOREVER)).toEqual(before)
    },
  )

  it.each([
    ['more', 3],
    ['less', 1],
  ])('stays unchanged by settling %s, and the other policy is corrected', async (_used, actual) => {
    const prefix = freshPrefix()
    const store = shared.store(prefix)
    const other = KINDS['sliding windows']('other', 9)
    const limiter = createLimiter({ store, policies: [KINDS[kind]('broken', 9), other] })
    const call = await reserve(limiter, ACME, { cost: { request: 2 } })
    const [key = ''] = await keysUnder(shared.redis, `${prefix}:broken`)
    await shared.redis.del(key)
    await write(shared.redis, key)
    const before = (await snapshot(shared.redis, prefix, FOREVER))[key]
    expect(before).toBeDefined()
    // It may well say that not all could be corrected.
    await (call.allowed && call.settle({ request: actual }).catch(() => undefined))
    expect((await snapshot(shared.redis, prefix, FOREVER))[key]).toBe(before)
    const { policies } = await createLimiter({ store, policies: [other] }).peek(ACME)
    expect(policies.map(({ remaining }) => remaining)).toEqual([9 - actual, 9 - actual])
  })
})
