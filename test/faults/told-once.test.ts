import type { Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { redis } from '@sluice/core/redis'
import { reservation, reserve } from '@sluice/core/reservations'
import { sharded } from '@sluice/core/sharded'
import { upstash } from '@sluice/core/upstash'
import { usageOperations } from '@sluice/usage'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ownFolders } from '../core/file/support.ts'
import { ACME } from '../support/limiters.ts'
import { losingStore, type Loss } from '../support/losing-store.ts'
import { objectsInProcess, storeIn } from '../support/objects.ts'
import { ownRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { TCP_CLIENTS } from '../support/tcp-clients.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { heardBy, ledgerOf, minusFirst, setUp } from '../usage/heard.ts'

const ESTIMATE = { usd: 44_500, token: 4_000 }
const USED = { usd: 7_000, token: 700 }
const timeoutMs = 30_000

const own = ownRedisOverHttp()
const folderOf = ownFolders()

/** A store whose next decision or settlement gets lost on its way there or back. */
interface Lossy {
  readonly store: Store
  readonly lose: (loss: Loss) => void
  /** Resolves when the store can be reached again. */
  readonly back?: () => Promise<unknown>
  readonly close?: () => Promise<void>
}

/** Loses a message between a client and its store, or the answer to it. */
async function passing<T>(loss: Loss, send: () => Promise<T>): Promise<T> {
  if (loss === 'request') throw new TypeError('The request is lost')
  const answer = await send()
  if (loss === 'reply') throw new TypeError('The reply is lost')
  return answer
}

/** A way that loses the next message or answer. */
function wayThatLoses() {
  let next: Loss
  return {
    lose: (loss: Loss): void => void (next = loss),
    pass<T>(send: () => Promise<T>): Promise<T> {
      const loss = next
      next = undefined
      return passing(loss, send)
    },
  }
}

function overRest(wrap: (store: Store) => Store = (store) => store): Lossy {
  const { url, token } = own.local
  const way = wayThatLoses()
  const store = upstash({
    url,
    token,
    prefix: freshPrefix(),
    timeoutMs,
    fetch: (target, init) => way.pass(() => fetch(target, init)),
  })
  return { store: wrap(store), lose: way.lose }
}

async function overTcp(name: 'ioredis 5' | 'node-redis'): Promise<Lossy> {
  const proxy = await tcpProxy(own.local.redisUrl ?? '')
  const { client, close } = TCP_CLIENTS[name](proxy.url)
  const isReady = (): boolean =>
    'status' in client ? client.status === 'ready' : 'isReady' in client && client.isReady
  return {
    store: redis({ client, prefix: freshPrefix(), timeoutMs }),
    lose(loss) {
      if (!loss) return
      proxy.behaviour = {
        [loss]: (_: string, socket: { destroy: () => void }) => {
          proxy.behaviour = {}
          socket.destroy()
          return false
        },
      }
    },
    back: () => vi.waitUntil(isReady, timeoutMs),
    async close() {
      close()
      await proxy.close()
    },
  }
}

function inObjects(): Lossy {
  const { namespace } = objectsInProcess({ operations: usageOperations })
  const way = wayThatLoses()
  const store = storeIn({
    ...namespace,
    get: (id) => ({ sluice: (message) => way.pass(() => namespace.get(id).sluice(message)) }),
  })
  return { store, lose: way.lose }
}

function below(inner: Store, wrap: (store: Store) => Store = (store) => store): Lossy {
  const losing = losingStore(inner)
  return { store: wrap(losing.store), lose: (loss) => losing.lose([loss]) }
}

const STORES: Readonly<Record<string, () => Lossy | Promise<Lossy>>> = {
  'Redis over REST': () => overRest(),
  'Redis over REST, batched': () => overRest(batched),
  'Redis over ioredis': () => overTcp('ioredis 5'),
  'Redis over node-redis': () => overTcp('node-redis'),
  'Durable Objects': () => inObjects(),
  'a file': () => below(file(folderOf())),
  'memory behind cached denials': () => below(memory(), cacheDenials),
  'memory behind a breaker': () => below(memory(), (store) => breaker(store, { failures: 100 })),
  'two shards': () => below(memory(), (a) => sharded({ a, b: memory() }, { shardBy: 'tenant' })),
}

/** The calls of one reservation that get lost: its decision, and attempts to settle. */
const LOSSES: [decision: Loss, ...settlements: Loss[]][] = [
  [undefined],
  [undefined, 'request'],
  [undefined, 'reply'],
  [undefined, 'request', 'reply'],
  [undefined, 'reply', 'request', 'reply'],
  ['request'],
  ['reply'],
  ['reply', 'reply'],
]

beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))
afterEach(() => void vi.restoreAllMocks())

const NAMES = LOSSES.map(
  ([decision = 'no', ...settlements]) => `${decision}, then ${settlements.join(', ') || 'no'}`,
)

describe.each(Object.entries(STORES))('in %s', (_, open) => {
  it.each(LOSSES.map((losses, at) => [NAMES[at], losses] as const))(
    'a charge and its correction are told as they are stored: %s loss',
    async (_name, [decision, ...settlements]) => {
      for (const mode of ['deny', 'allow'] as const) {
        const { store, lose, back, close } = await open()
        const { limiter, heard, codes } = await setUp(mode, store)
        lose(decision)
        const works: Promise<unknown>[] = []
        const waitUntil = (work: Promise<unknown>): void => void works.push(work)
        const call = await reserve(limiter, ACME, { cost: ESTIMATE, waitUntil })
        await back?.()
        await Promise.all(works)
        expect(call.degraded !== undefined).toBe(decision !== undefined)
        if (call.allowed) {
          for (const loss of settlements) {
            lose(loss)
            await call.settle(USED).catch(() => {})
            await back?.()
          }
          await call.settle(USED)
          // A second settlement, as of another process, is not told.
          await reservation(limiter, JSON.stringify(call)).cancel()
        }
        const charged = minusFirst(await ledgerOf(limiter, 'acme'))
        expect(codes()).not.toContain('reservation_lost')
        const used = mode === 'deny' && decision ? { usd: 0, token: 0 } : USED
        expect(charged).toEqual(decision === 'request' ? { usd: 0, token: 0 } : used)
        expect(await heard()).toEqual(heardBy(charged))
        await close?.()
      }
    },
  )
})
