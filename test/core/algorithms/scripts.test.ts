import {
  leakyBucket,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Entry,
  type Policy,
} from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { keysUnder } from '../../support/redis.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { entriesOf, rulesOf, storeRequest } from '../../support/store-request.ts'
import { freshPrefix } from '../../support/stores.ts'

const shared = sharedRedis()

const common = { name: 'p', limit: 10, window: '1m', per: 'global' } as const

const one = { limit: 10, window: '1m' } as const

const POLICIES: readonly (readonly [what: string, policy: Policy])[] = [
  ['a token bucket', tokenBucket(common)],
  ['a token bucket of intervals', tokenBucket({ ...common, refill: 'interval' })],
  ['a leaky bucket', leakyBucket({ ...common, burst: 10, wait: '2s' })],
  ['a counter', slidingWindowCounter({ ...common, segments: 6 })],
  ['a log', slidingWindows({ name: 'p', per: 'global', windows: { w: one } })],
]

const BAD = [Number.NaN, Infinity, -1, 0.5, 10 ** 14 + 1, 'nan', '', 'one']

function setUp(policy: Policy) {
  const prefix = freshPrefix()
  const store = shared.store(prefix)
  const rules = rulesOf(policy)
  const check = (changed: Partial<Record<keyof Entry, unknown>> = {}) =>
    store.check(storeRequest(rules, entriesOf(rules, changed as Partial<Entry>)))
  return { prefix, check, isBucket: rules[0]?.burst !== undefined }
}

describe.each(POLICIES)('the script of %s', (_what, policy) => {
  it('refuses numbers that are not whole, and writes nothing', async () => {
    const { prefix, check, isBucket } = setUp(policy)
    for (const bad of BAD) {
      const forged = [
        { limit: bad, burst: 10 },
        { cost: bad },
        ...(isBucket ? [{ burst: bad }] : []),
      ]
      for (const changed of forged) {
        await expect(check(changed)).rejects.toMatchObject({ code: 'store_refused' })
      }
    }
    expect(await keysUnder(shared.redis, prefix)).toEqual([])
  })

  it('fails instead of allowing when its key holds something else', async () => {
    const { prefix, check } = setUp(policy)
    await check()
    const [key = ''] = await keysUnder(shared.redis, prefix)
    for (const write of [
      () => shared.redis.set(key, 'text'),
      () => shared.redis.zadd(key, 1, 'text'),
      () => shared.redis.hset(key, 'a', '1:2'),
    ]) {
      await shared.redis.del(key)
      await write()
      await expect(check()).rejects.toMatchObject({ code: 'store_refused' })
    }
  })

  it('never fits a cost above its capacity, however large', async () => {
    const { check } = setUp(policy)
    const { verdicts } = await check({ cost: 10 ** 12 })
    expect(verdicts).toMatchObject([{ fits: false, available: 10, retryMs: -1 }])
  })
})
