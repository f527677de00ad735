import { createLimiter, slidingWindow, type Store } from '@sluice/core'
import { redis } from '@sluice/core/redis'
import { reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { collectProblems } from '../support/limiters.ts'
import { ownRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { TCP_CLIENT_NAMES, TCP_CLIENTS } from '../support/tcp-clients.ts'
import { tcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const RESERVATIONS = 10
const LIMIT = 1_000
const COST = { token: 100 }

const own = ownRedisOverHttp()
const timeoutMs = 30_000

/** A store on a connection that can break. */
interface Breakable {
  readonly store: Store
  /** Loses the next reply, and with it the connection. */
  readonly loseReply: () => void
  /** Lets nothing through for good. */
  readonly goAway: () => void
  /** Resolves when the store can be reached again. */
  readonly back: () => Promise<void>
  readonly close: () => Promise<void>
}

const overTcp = Object.fromEntries(
  TCP_CLIENT_NAMES.map((name) => [
    name,
    async (): Promise<Breakable> => {
      const proxy: TcpProxy = await tcpProxy(own.local.redisUrl ?? '')
      const { client, close } = TCP_CLIENTS[name](proxy.url)
      const isReady = (): boolean =>
        'status' in client ? client.status === 'ready' : 'isReady' in client && client.isReady
      return {
        store: redis({ client, prefix: freshPrefix(), timeoutMs }),
        loseReply() {
          proxy.behaviour = {
            reply(_, socket) {
              proxy.behaviour = {}
              socket.destroy()
              return false
            },
          }
        },
        goAway() {
          proxy.behaviour = {
            request(_, socket) {
              socket.destroy()
              return false
            },
          }
        },
        back: () => vi.waitUntil(isReady, timeoutMs).then(() => undefined),
        async close() {
          close()
          await proxy.close()
        },
      }
    },
  ]),
)

/** Loses a reply, and the request after it, as a connection does that has to be made again. */
function overRest(): Promise<Breakable> {
  const { url, token } = own.local
  let lost: ('reply' | 'request')[] = []
  let isGone = false
  const store = upstash({
    url,
    token,
    prefix: freshPrefix(),
    timeoutMs,
    async fetch(target, init) {
      const losing = isGone ? 'request' : lost.shift()
      if (losing === 'request') throw new TypeError('The request is lost')
      const response = await fetch(target, init)
      if (losing === undefined) return response
      throw new TypeError('The reply is lost')
    },
  })
  return Promise.resolve({
    store,
    loseReply: () => void (lost = ['reply', 'request']),
    goAway: () => void (isGone = true),
    back: () => Promise.resolve(),
    close: () => Promise.resolve(),
  })
}

/** Holds back the pauses between attempts until `back` resolves, so that no test depends on their length. */
function holdPauses(back: () => Promise<void>): number[] {
  const { setTimeout } = globalThis
  const pauses: number[] = []
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number) => {
    if (ms !== 200 && ms !== 400) return setTimeout(run, ms)
    pauses.push(ms)
    void back().then(run)
    return undefined
  }) as never)
  return pauses
}

describe.each(Object.entries({ ...overTcp, REST: overRest }))('over %s', (_, connect) => {
  let breakable: Breakable
  beforeAll(async () => {
    breakable = await connect()
  })
  afterAll(() => breakable.close())
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const setUp = () => {
    const { problems, listener } = collectProblems()
    const limiter = createLimiter({
      store: breakable.store,
      onStoreError: 'deny',
      extensions: [listener],
      policies: [
        slidingWindow({ name: 'tpm', unit: 'token', limit: LIMIT, window: '1h', per: ['tenant'] }),
      ],
    })
    const codes = () => problems.map(({ code }) => code)
    /** Reserves, and returns the reason of the denial after the work in the background is over. */
    const reserveAndWait = async (tenant: string): Promise<string | undefined> => {
      const works: Promise<unknown>[] = []
      const waitUntil = (work: Promise<unknown>): void => void works.push(work)
      const decision = await reserve(limiter, { tenant }, { cost: COST, waitUntil })
      await Promise.all(works)
      return decision.allowed ? undefined : decision.reason
    }
    return { limiter, codes, reserveAndWait }
  }

  it('a reservation that is denied because its reply was lost with the connection is not charged', async () => {
    const { limiter, codes, reserveAndWait } = setUp()
    // The scripts are loaded with it: what is lost is a reply to one of them.
    const warm = await reserve(limiter, { tenant: 'warm' }, { cost: COST })
    if (warm.allowed) await warm.cancel()
    holdPauses(breakable.back)
    let charged = 0
    for (let count = 0; count < RESERVATIONS; count += 1) {
      const tenant = `tenant-${count}`
      breakable.loseReply()
      expect(await reserveAndWait(tenant)).toBe('store_unavailable')
      await breakable.back()
      const { policies, degraded } = await limiter.peek({ tenant }, { cost: { token: 0 } })
      expect(degraded).toBeUndefined()
      if (policies[0]?.remaining !== LIMIT) charged += 1
    }
    expect(charged).toBe(0)
    expect(codes()).not.toContain('reservation_lost')
  })

  it('one whose store stays away is given up after three attempts, and reported once', async () => {
    const { codes, reserveAndWait } = setUp()
    const pauses = holdPauses(() => Promise.resolve())
    breakable.goAway()
    for (let count = 0; count < 3; count += 1) {
      expect(await reserveAndWait('acme')).toBe('store_unavailable')
    }
    expect(pauses).toEqual([200, 400, 200, 400, 200, 400])
    expect(codes().filter((code) => code === 'reservation_lost')).toHaveLength(1)
  })
})
