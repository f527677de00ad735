import { concurrency, createLimiter, dailyCap, slidingWindow, type Limiter } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { overTcp, TCP_CLIENT_NAMES } from '../support/tcp-clients.ts'
import { tcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const ACME = { tenant: 'acme' }
const policies = [
  dailyCap({ name: 'daily', limit: 4, per: ['tenant'] }),
  slidingWindow({ name: 'rpm', limit: 4, window: '1h', per: ['tenant'] }),
  concurrency({ name: 'calls', limit: 4, per: ['tenant'] }),
]

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

/** One after the other: warm, allowed, read, reserved and settled, denied, reset. */
const ACTS: Record<string, (limiter: Limiter) => Promise<unknown>> = {
  check: (limiter) => limiter.check(ACME),
  peek: (limiter) => limiter.peek(ACME),
  'reserve and settle': async (limiter) => {
    const call = await reserve(limiter, ACME, { cost: { request: 2 } })
    return call.allowed && call.settle({ request: 1 })
  },
  'another check': (limiter) => limiter.check(ACME),
  'a denial': (limiter) => limiter.check(ACME, { cost: 3 }),
  reset: (limiter) => limiter.reset(ACME),
}

async function commandsOf(limiter: Limiter): Promise<Record<string, object>> {
  // The scripts are loaded with it.
  for (const act of Object.values(ACTS)) await act(limiter)
  const rows: Record<string, object> = {}
  for (const [name, act] of Object.entries(ACTS)) {
    const { calls } = await own.meter.measure(() => act(limiter))
    rows[name] = Object.fromEntries(calls)
  }
  return rows
}

describe.each(TCP_CLIENT_NAMES)('over %s', (name) => {
  let proxy: TcpProxy
  let tcp: ReturnType<typeof overTcp>
  beforeAll(async () => {
    proxy = await tcpProxy(own.local.redisUrl ?? '')
    tcp = overTcp(name, proxy.url)
  })
  afterAll(async () => {
    tcp.close()
    await proxy.close()
  })

  it('the same acts cost the same commands as over REST', async () => {
    const { limiter } = own.setUp(policies)
    const overRest = await commandsOf(limiter)
    expect(overRest['check']).toMatchObject({ evalsha: 1, get: 1 })
    const limiterOverTcp = createLimiter({ store: tcp.make(freshPrefix()), policies })
    expect(await commandsOf(limiterOverTcp)).toEqual(overRest)
  })

  it('a decision is one script call; three once per store on stock Redis; two if the script is gone', async () => {
    const limiter = createLimiter({ store: tcp.make(freshPrefix()), policies })
    const calls = async (): Promise<number> => {
      const before = proxy.scriptCalls
      expect((await limiter.check(ACME, { cost: 0 })).degraded).toBeUndefined()
      return proxy.scriptCalls - before
    }
    await own.redis.script('FLUSH')
    // This Redis refuses Upstash's script flag.
    expect(await calls()).toBe(3)
    expect(await calls()).toBe(1)
    await own.redis.script('FLUSH')
    expect(await calls()).toBe(2)
    expect(await calls()).toBe(1)
  })
})
