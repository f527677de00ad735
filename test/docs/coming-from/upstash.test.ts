import {
  createLimiter,
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { describe, expect, it, vi } from 'vitest'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { at, block, cleanUp, stillClock } from './page.ts'

cleanUp()
stillClock()
const own = ownRedisOverHttp()

interface FromUpstash {
  readonly limiter: Limiter
  readonly handler: (request: Request) => Promise<Response>
}

const MINUTE = 60_000

/** A limiter of theirs on a real Redis, by the clock of the test. */
function peer(limiter: ConstructorParameters<typeof Ratelimit>[0]['limiter']): Ratelimit {
  const { url, token } = own.local
  const redis = new Redis({ url, token })
  return new Ratelimit({ redis, limiter, prefix: freshPrefix(), ephemeralCache: false })
}

const ours = (...policies: Policy[]) => createLimiter({ store: memory(), policies })

describe('@upstash/ratelimit', () => {
  it.each([
    [
      'fixedWindow',
      () => Ratelimit.fixedWindow(10, '10 s'),
      fixedWindow({ name: 'p', limit: 10, window: '10s', per: ['tenant'] }),
    ],
    [
      'tokenBucket',
      () => Ratelimit.tokenBucket(5, '10 s', 20),
      tokenBucket({
        name: 'p',
        limit: 5,
        window: '10s',
        burst: 20,
        refill: 'interval',
        per: ['tenant'],
      }),
    ],
  ] as const)('%s decides the same for costs of 1', async (_name, theirs, policy) => {
    const [limiter, there] = [ours(policy), peer(theirs())]
    const decided: (readonly [boolean, boolean])[] = []
    for (let sent = 0; sent < 120; sent += 1) {
      // Bursts of 30, a few seconds apart.
      at(Math.floor(sent / 30) * 7_000 + (sent % 30))
      const { allowed } = await limiter.check({ tenant: 'acme' })
      decided.push([allowed, (await there.limit('acme')).success])
    }
    expect(decided.filter(([here, success]) => here !== success)).toEqual([])
    expect(new Set(decided.flat())).toEqual(new Set([true, false]))
  })

  it('slidingWindow lets 200 of a limit of 100 pass in a minute, and ours 100', async () => {
    const limiter = ours(slidingWindow({ name: 'p', limit: 100, window: '1m', per: ['tenant'] }))
    const there = peer(Ratelimit.slidingWindow(100, '60 s'))
    const passed: [here: number[], there: number[]] = [[], []]
    const ask = async (ms: number): Promise<void> => {
      at(ms)
      if ((await limiter.check({ tenant: 'acme' })).allowed) passed[0].push(ms)
      if ((await there.limit('acme')).success) passed[1].push(ms)
    }
    // All of one window at its end, and what the estimate leaves in the next at its own.
    for (let sent = 0; sent < 100; sent += 1) await ask(MINUTE - 1)
    for (let sent = 0; sent < 100; sent += 1) await ask(2 * MINUTE - 2)
    const most = passed.map((times) =>
      Math.max(
        ...times.map((from) => times.filter((ms) => ms >= from && ms < from + MINUTE).length),
      ),
    )
    expect(most).toEqual([100, 200])
  })

  it('charges a denial, which ours does not', async () => {
    const limiter = ours(slidingWindow({ name: 'p', limit: 10, window: '1m', per: ['tenant'] }))
    const there = peer(Ratelimit.slidingWindow(10, '60 s'))
    const [here, theirs] = [[] as boolean[], [] as boolean[]]
    for (const cost of [7, 7, 1]) {
      here.push((await limiter.check({ tenant: 'acme' }, { cost })).allowed)
      theirs.push((await there.limit('acme', { rate: cost })).success)
    }
    expect([here, theirs]).toEqual([
      [true, false, true],
      [true, false, false],
    ])
  })

  it('resets org1:user2 with org1, which ours does not', async () => {
    const there = peer(Ratelimit.fixedWindow(1, '1 d'))
    await there.limit('org1:user2')
    await there.resetUsedTokens('org1')
    expect((await there.limit('org1:user2')).success).toBe(true)
    const limiter = ours(fixedWindow({ name: 'p', limit: 1, window: '1d', per: ['tenant'] }))
    await limiter.check({ tenant: 'org1:user2' })
    await limiter.reset({ tenant: 'org1' })
    expect((await limiter.check({ tenant: 'org1:user2' })).allowed).toBe(false)
  })

  it("has this page's limiter in its place: 60 a minute, and a denial uses no day", async () => {
    vi.stubEnv('UPSTASH_REDIS_REST_URL', own.local.url)
    vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', own.local.token)
    const { limiter, handler } = await block<FromUpstash>('from-upstash')
    const headers = { 'x-tenant': freshPrefix() }
    const request = () => handler(new Request('https://app.example/', { headers }))
    const statuses: number[] = []
    for (let sent = 0; sent < 65; sent += 1) statuses.push((await request()).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(60)
    const { policies } = await limiter.peek({ tenant: headers['x-tenant'] })
    expect(policies[0]).toMatchObject({ name: 'day', remaining: 440 })
  })
})
