import {
  leakyBucket,
  slidingWindows,
  slidingWindowCounter,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { startLocal, startRedisServer, type LocalServer, type RedisServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect, keysUnder } from '../../support/redis.ts'
import { entriesOf, rulesOf, storeRequest } from '../../support/store-request.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'

const common = { name: 'p', limit: 5, window: '1s', per: 'global' } as const
const windows = { short: { limit: 5, window: '1s' }, long: { limit: 9, window: '2s' } } as const

const POLICIES: readonly (readonly [what: string, policy: Policy])[] = [
  ['a token bucket', tokenBucket(common)],
  ['a token bucket of intervals', tokenBucket({ ...common, refill: 'interval' })],
  ['a leaky bucket', leakyBucket({ ...common, burst: 5 })],
  ['a counter', slidingWindowCounter({ ...common, segments: 2 })],
  ['a log', slidingWindows({ name: 'p', per: 'global', windows })],
]

let server: RedisServer
let redis: Redis
let local: LocalServer

beforeAll(async () => {
  server = await startRedisServer()
  redis = connect(server.url)
  // A user whose scripts may not ask for the time, so that callers' clocks decide.
  await redis.acl('SETUSER', 'timeless', 'reset', 'on', '>secret', '~*', '+@all', '-time')
  local = await startLocal({ redisUrl: `redis://timeless:secret@127.0.0.1:${server.port}` })
})
afterAll(async () => {
  redis.disconnect()
  await local.close()
  await server.stop()
})

describe.each(POLICIES)('by the clocks of callers, %s', (_what, policy) => {
  it('keeps to its limit with clocks up to a minute apart: a fast one lets no key expire early', async () => {
    const { url, token } = local
    const prefix = freshPrefix()
    const store = upstash({ url, token, prefix, timeoutMs: 30_000 })
    const rules = rulesOf(policy)
    const entries = entriesOf(rules, { limit: 5 })
    const ask = (now: number) => store.check(storeRequest(rules, entries, { now }))
    for (let time = 0; time < 5; time += 1) expect((await ask(NOON)).verdicts[0]?.fits).toBe(true)
    const [key = ''] = await keysUnder(redis, prefix)
    expect(await redis.pttl(key)).toBeGreaterThan(60_000)
    // A slow caller finds what the fast one has spent, and it lives on until that is over for him, too.
    const [verdict] = (await ask(NOON - 60_000)).verdicts
    expect(verdict).toMatchObject({ fits: false, available: 0 })
    expect(verdict?.retryMs).toBeGreaterThan(60_000)
    expect(verdict?.retryMs).toBeLessThanOrEqual(await redis.pttl(key))
  })
})
