import { createLimiter, fixedWindow, StoreError, type Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { redis } from '@sluice/core/redis'
import { upstash, type UpstashOptions } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { Redis as UpstashClient } from '@upstash/redis'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { TCP_CLIENT_NAMES, TCP_CLIENTS } from '../../support/tcp-clients.ts'
import { tcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { Watched } from '../../support/watched-store.ts'
import { PATIENTLY } from '../../support/patience.ts'

const RECOVERED = 'store_recovered'
const OUTAGE_MS = 90_000

const hundred = fixedWindow({ name: 'rpm', limit: 100, window: '1h', per: ['tenant'] })
const one = [fixedWindow({ name: 'one', limit: 1, window: '1h', per: ['tenant'] })]

const own = ownRedisOverHttp()
const closing: (() => unknown)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closing.splice(0).toReversed()) await close()
})

const overRest = (proxy: TcpProxy, options: Pick<UpstashOptions, 'pipeline'> = {}): Store =>
  upstash({
    url: `http://127.0.0.1:${proxy.port}`,
    token: own.local.token,
    prefix: freshPrefix(),
    timeoutMs: 30_000,
    ...options,
  })

/** The stores that can have an outage, each over a proxy that can be shut. */
const STORES: Record<string, (proxy: TcpProxy) => Store> = {
  upstash: (proxy) => overRest(proxy),
  upstashRedis: (proxy) => {
    const client = new UpstashClient({
      url: `http://127.0.0.1:${proxy.port}`,
      token: own.local.token,
    })
    return upstashRedis(client, { prefix: freshPrefix(), timeoutMs: 30_000 })
  },
  'upstash, a request for each call': (proxy) => overRest(proxy, { pipeline: false }),
  batched: (proxy) => batched(overRest(proxy)),
  breaker: (proxy) => breaker(overRest(proxy), { failures: 1, pauseMs: 1 }),
  cacheDenials: (proxy) => cacheDenials(overRest(proxy)),
  leased: (proxy) => leased(overRest(proxy)),
  'a store of your own': (proxy) => {
    const inner = overRest(proxy)
    return {
      check: (request) => inner.check(request).catch(() => Promise.reject(new Error('Down'))),
      run: (operation) => inner.run(operation),
      reset: (keys) => inner.reset(keys),
    }
  },
}

const OVER_TCP = Object.fromEntries(
  TCP_CLIENT_NAMES.map((name) => [
    `redis, ${name}`,
    (proxy: TcpProxy): Store => {
      const { client, close } = TCP_CLIENTS[name](proxy.url)
      closing.push(close)
      return redis({ client, prefix: freshPrefix(), timeoutMs: 30_000 })
    },
  ]),
)

describe.each(Object.entries({ ...STORES, ...OVER_TCP }))('%s', (name, makeStore) => {
  it.each(['local', 'allow', 'deny'] as const)(
    'reports once that an outage has ended, and how long it was, with onStoreError %s',
    async (onStoreError) => {
      const target = name in OVER_TCP ? (own.local.redisUrl ?? '') : own.local.url
      const proxy = await tcpProxy(target)
      closing.push(() => proxy.close())
      const { problems, listener } = collectProblems()
      const { limiter, clock } = setUp([name === 'leased' ? lease(hundred) : hundred], {
        store: makeStore(proxy),
        extensions: [listener],
        onStoreError,
      })
      let tenants = 0
      // Each of another tenant, so that no block of a lease serves it.
      const isDegraded = async (): Promise<boolean> => {
        const { degraded } = await limiter.check({ tenant: `tenant-${(tenants += 1)}` })
        return degraded !== undefined
      }
      expect(await isDegraded()).toBe(false)
      expect(problems).toEqual([])

      proxy.behaviour = {
        request(_, socket) {
          socket.destroy()
          return false
        },
      }
      expect(await isDegraded()).toBe(true)
      expect(await isDegraded()).toBe(true)
      clock.advance(OUTAGE_MS)
      expect(await isDegraded()).toBe(true)
      expect(problems.map(({ code }) => code)).not.toContain(RECOVERED)

      proxy.behaviour = {}
      // A client over TCP connects again by and by.
      while (await isDegraded()) await new Promise(setImmediate)
      expect(await isDegraded()).toBe(false)
      expect(problems.filter(({ code }) => code === RECOVERED)).toEqual([
        {
          code: RECOVERED,
          message: 'The store is back after 90 s',
        },
      ])
      expect(problems.at(-1)?.code).toBe(RECOVERED)
    },
  )
})

/** A limiter around a store that can be down, and the codes of its problems. */
function setUpWatched(wrap: (store: Store) => Store, policies = one) {
  const store = new Watched(memory())
  const { problems, listener } = collectProblems()
  const { limiter, clock } = setUp(policies, { store: wrap(store), extensions: [listener] })
  const codes = () => problems.map(({ code }) => code)
  return { store, limiter, clock, codes }
}

describe('an outage is not ended', () => {
  it('by a denial from the cache', async () => {
    const { store, limiter, codes } = setUpWatched((inner) => cacheDenials(inner))
    for (let count = 0; count < 2; count += 1) await limiter.check(ACME)
    store.isDown = true
    await limiter.check({ tenant: 'other' })
    expect(await limiter.check(ACME)).toMatchObject({ source: 'cache', degraded: undefined })
    expect(codes()).toEqual(['store_unreachable'])
  })

  it('by a unit of a lease', async () => {
    const { store, limiter, codes } = setUpWatched((inner) => leased(inner), [lease(hundred)])
    for (let count = 0; count < 3; count += 1) await limiter.check(ACME)
    store.isDown = true
    await limiter.check({ tenant: 'other' })
    expect(await limiter.check(ACME)).toMatchObject({ source: 'lease', degraded: undefined })
    expect(codes()).toEqual(['store_unreachable'])
  })

  it('by the answer to a request from before it', async () => {
    const inner = memory()
    let answer: (() => void) | undefined
    let isSlow = true
    let isDown = false
    const { limiter, codes } = setUpWatched(() => ({
      ...inner,
      async check(request) {
        if (isDown) throw new StoreError('store_timeout', 'slow')
        if (isSlow) {
          isSlow = false
          await new Promise<void>((resolve) => (answer = resolve))
        }
        return inner.check(request)
      },
    }))
    const early = limiter.check(ACME)
    await vi.waitUntil(() => !isSlow, PATIENTLY)
    isDown = true
    await limiter.check({ tenant: 'other' })
    answer?.()
    expect(await early).toMatchObject({ degraded: undefined })
    expect(codes()).toEqual(['store_timeout'])
    isDown = false
    await limiter.check({ tenant: 'third' })
    expect(codes()).toEqual(['store_timeout', RECOVERED])
  })

  it('by a line of its own for an outage that was not reported', async () => {
    const { store, limiter, clock, codes } = setUpWatched((inner) => inner)
    const outage = async (): Promise<void> => {
      store.isDown = true
      await limiter.check(ACME)
      store.isDown = false
      await limiter.check(ACME)
    }
    // Failures are reported once a minute, and so are their ends.
    for (let count = 0; count < 5; count += 1) await outage()
    expect(codes()).toEqual(['store_unreachable', RECOVERED])
    clock.advance(60_000)
    await outage()
    expect(codes()).toEqual(['store_unreachable', RECOVERED, 'store_unreachable', RECOVERED])
  })
})

it('the end of an outage is one line of the log', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {})
  const store = new Watched(memory())
  const limiter = createLimiter({ store, policies: one })
  await limiter.check(ACME)
  expect(log).not.toHaveBeenCalled()
  store.isDown = true
  await limiter.check(ACME)
  store.isDown = false
  await limiter.check(ACME)
  await limiter.check(ACME)
  expect(log.mock.calls.map(([line]) => String(line).slice(0, 37))).toEqual([
    expect.stringContaining('down'),
    'Sluice: The store is back after 1 s',
  ])
})
