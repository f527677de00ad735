import { createLimiter, slidingWindow, type Limiter, type OnStoreError } from '@sluice/core'
import { redis } from '@sluice/core/redis'
import { startRedisServer, type RedisServer } from '@sluice/local'
import { Redis } from 'ioredis'
import { createClient, createClientPool } from 'redis'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { connect, keysUnder } from '../support/redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { TCP_CLIENT_NAMES, TCP_CLIENTS, type TcpClient } from '../support/tcp-clients.ts'
import { tcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { MODES, SECRET, subject, TENANT } from './limiter.ts'

const LIMIT = 20

let server: RedisServer
let proxy: TcpProxy
let beside: Redis
const open: TcpClient[] = []

beforeEach(async () => {
  server = await startRedisServer()
  proxy = await tcpProxy(server.url)
  beside = connect(server.url)
})
afterEach(async () => {
  for (const { close } of open.splice(0)) close()
  beside.disconnect()
  await proxy.close()
  await server.stop()
})

function limiterOf(
  { client }: TcpClient,
  onStoreError: OnStoreError = 'local',
  timeoutMs = 30_000,
  prefix = freshPrefix(),
): Limiter {
  return createLimiter({
    store: redis({ client, prefix, timeoutMs }),
    onStoreError,
    policies: [slidingWindow({ name: 'rpm', limit: LIMIT, window: '1m', per: ['tenant'] })],
  })
}

/** A decision by Redis: what is left of the limit as it counts. */
async function remaining(limiter: Limiter): Promise<number | undefined> {
  for (;;) {
    const { degraded, policies } = await limiter.peek(subject)
    if (degraded === undefined) return policies[0]?.remaining
    await new Promise(setImmediate)
  }
}

const isScript = (text: string): boolean => /\r\nEVAL(SHA)?\r\n/.test(text)

describe.each(TCP_CLIENT_NAMES)('over %s', (name) => {
  const start = (url = proxy.url): TcpClient => {
    const started = TCP_CLIENTS[name](url)
    open.push(started)
    return started
  }

  it.each(MODES)('a connection that is refused degrades the decision at once: %s', async (mode) => {
    await proxy.close()
    const client = start()
    const limiter = limiterOf(client, mode, name === 'node-redis' ? 100 : 30_000)
    const { allowed, degraded } = await limiter.check(subject)
    // node-redis keeps trying to connect: the deadline ends the wait.
    const cause = name === 'node-redis' ? 'store_timeout' : 'store_unreachable'
    expect(degraded).toEqual({ cause, mode })
    expect(allowed).toBe(mode !== 'deny')
  })

  it('a script whose reply is lost with the connection is charged once and never sent again', async () => {
    const limiter = limiterOf(start())
    expect(await remaining(limiter)).toBe(LIMIT)
    const before = proxy.scriptCalls
    let isCut = false
    proxy.behaviour = {
      reply(_, client) {
        if (isCut) return true
        isCut = true
        client.destroy()
        return false
      },
    }
    const { degraded } = await limiter.check(subject)
    expect(degraded).toEqual({ cause: 'store_unreachable', mode: 'local' })
    expect(await remaining(limiter)).toBe(LIMIT - 1)
    expect(proxy.scriptCalls - before).toBe(2)
  })

  it('a script that is lost before Redis has it is not sent again', async () => {
    const limiter = limiterOf(start())
    expect(await remaining(limiter)).toBe(LIMIT)
    let cuts = 0
    proxy.behaviour = {
      request(text, client) {
        if (cuts > 0 || !isScript(text)) return true
        cuts += 1
        client.destroy()
        return false
      },
    }
    const { degraded } = await limiter.check(subject)
    expect(degraded?.cause).toBe('store_unreachable')
    expect(await remaining(limiter)).toBe(LIMIT)
  })

  it('a slow reply costs the deadline, is ignored when it comes, and the charge is counted once', async () => {
    const client = start()
    const prefix = freshPrefix()
    const hasty = limiterOf(client, 'local', 400, prefix)
    // Redis has the script by then, and the store knows in which form.
    expect(await remaining(hasty)).toBe(LIMIT)
    proxy.behaviour = { reply: () => false }
    const { degraded } = await hasty.check(subject)
    expect(degraded).toEqual({ cause: 'store_timeout', mode: 'local' })
    proxy.behaviour = {}
    proxy.release()
    expect(await remaining(limiterOf(client, 'local', 30_000, prefix))).toBe(LIMIT - 1)
  })

  it('a decision that waits for the first connection sends nothing after its deadline', async () => {
    // The handshake stays unanswered.
    proxy.behaviour = { request: () => false }
    const client = start()
    const prefix = freshPrefix()
    const hasty = await Promise.all(
      [1, 2, 3].map(() => limiterOf(client, 'local', 200, prefix).check(subject)),
    )
    expect(hasty.map(({ degraded }) => degraded?.cause)).toEqual(
      Array.from({ length: 3 }, () => 'store_timeout'),
    )
    proxy.behaviour = {}
    proxy.release()
    expect(await remaining(limiterOf(client, 'local', 30_000, prefix))).toBe(LIMIT)
  })

  it('decisions fail at once while a lost connection is away, and Redis decides when it is back', async () => {
    const limiter = limiterOf(start())
    expect(await remaining(limiter)).toBe(LIMIT)
    await server.stop()
    let checks = 0
    const causes = new Set<string | undefined>()
    // The first may find out that the connection is gone.
    while (checks < 25) {
      checks += 1
      causes.add((await limiter.check(subject)).degraded?.cause)
    }
    expect([...causes]).toEqual(['store_unreachable'])
    server = await startRedisServer({ port: server.port })
    expect(await remaining(limiter)).toBe(LIMIT)
  })

  it('foreign data under our keys degrades decisions and stays unchanged', async () => {
    const prefix = freshPrefix()
    const limiter = limiterOf(start(), 'deny', 30_000, prefix)
    await limiter.check(subject)
    const [key = ''] = await keysUnder(beside, prefix)
    await beside.set(key, 'not ours')
    const { degraded } = await limiter.check(subject)
    expect(degraded).toEqual({ cause: 'store_refused', mode: 'deny' })
    expect(await beside.get(key)).toBe('not ours')
  })

  it.each(['CROSSSLOT Keys in request', 'MOVED 7 10.0.0.1:1', 'NOPERM', 'OOM command', 'BUSY'])(
    'the reply %s degrades the decision; its text and the command appear nowhere',
    async (word) => {
      const printed = (['log', 'warn', 'error', 'info', 'debug'] as const).map((level) =>
        vi.spyOn(console, level).mockImplementation(() => {}),
      )
      const limiter = limiterOf(start())
      expect(await remaining(limiter)).toBe(LIMIT)
      proxy.behaviour = {
        request(_, client) {
          client.write(`-${word} ${SECRET} ${TENANT}\r\n`)
          return false
        },
      }
      const decision = await limiter.check(subject)
      expect(decision.degraded).toEqual({ cause: 'store_refused', mode: 'local' })
      const text = JSON.stringify([decision, printed.map(({ mock }) => mock.calls)])
      expect(text).not.toMatch(`${SECRET}|${TENANT}`)
      const error: unknown = await limiter.reset(subject).catch((thrown: unknown) => thrown)
      expect(`${String(error)} ${JSON.stringify(error)}`).not.toMatch(`${SECRET}|${TENANT}`)
      vi.restoreAllMocks()
    },
  )
})

it.each(['ioredis 5', 'ioredis 6'] as const)(
  'a password that Redis refuses degrades decisions, and %s names the reason in its error event',
  async (name) => {
    await beside.config('SET', 'requirepass', SECRET)
    const started = TCP_CLIENTS[name](proxy.url.replace('//', '//:wrong@'))
    open.push(started)
    const reason = new Promise((resolve) => {
      ;(started.client as Redis).on('error', ({ message }: Error) => resolve(message))
    })
    const { degraded } = await limiterOf(started).check(subject)
    expect(['store_unauthorized', 'store_unreachable']).toContain(degraded?.cause)
    expect(await reason).toMatch(/^WRONGPASS/)
  },
)

it('a password that Redis refuses degrades decisions, and node-redis names the reason in its error event', async () => {
  await beside.config('SET', 'requirepass', SECRET)
  const client = createClient({ url: proxy.url, password: 'wrong' })
  open.push({ client, close: () => client.destroy() })
  const reason = new Promise((resolve) => {
    client.on('error', ({ message }: Error) => resolve(message))
  })
  client.connect().catch(() => {})
  const { degraded } = await limiterOf({ client, close: () => {} }).check(subject)
  expect(['store_unauthorized', 'store_unreachable']).toContain(degraded?.cause)
  expect(await reason).toMatch(/^WRONGPASS/)
})

it('a client that was never connected, or is closed, degrades decisions at once', async () => {
  const client = createClient({ url: proxy.url })
  const limiter = limiterOf({ client, close: () => {} })
  expect((await limiter.check(subject)).degraded?.cause).toBe('store_unreachable')
  await client.connect()
  expect(await remaining(limiter)).toBe(LIMIT)
  client.destroy()
  expect((await limiter.check(subject)).degraded?.cause).toBe('store_unreachable')
})

it('a client of ioredis that drops unanswered commands instead is as safe', async () => {
  const client = new Redis(proxy.url, { autoResendUnfulfilledCommands: false })
  open.push({ client, close: () => client.disconnect() })
  client.on('error', () => {})
  const prefix = freshPrefix()
  const hasty = limiterOf({ client, close: () => {} }, 'local', 400, prefix)
  expect(await remaining(hasty)).toBe(LIMIT)
  let isCut = false
  proxy.behaviour = {
    reply(_, socket) {
      if (isCut) return true
      isCut = true
      socket.destroy()
      return false
    },
  }
  expect((await hasty.check(subject)).degraded?.cause).toBe('store_timeout')
  expect(await remaining(limiterOf({ client, close: () => {} }, 'local', 30_000, prefix))).toBe(
    LIMIT - 1,
  )
})

it('a pool of node-redis sends nothing after the deadline, and each command once', async () => {
  const pool = createClientPool({ url: proxy.url }, { maximum: 1 })
  pool.on('error', () => {})
  await pool.connect()
  open.push({ client: pool, close: () => pool.destroy() })
  const prefix = freshPrefix()
  const patient = limiterOf({ client: pool, close: () => {} }, 'local', 30_000, prefix)
  const hasty = limiterOf({ client: pool, close: () => {} }, 'local', 200, prefix)
  expect(await remaining(patient)).toBe(LIMIT)
  proxy.behaviour = { reply: () => false }
  // The second waits for the only connection.
  const decisions = await Promise.all([hasty.check(subject), hasty.check(subject)])
  expect(decisions.map(({ degraded }) => degraded?.cause)).toEqual([
    'store_timeout',
    'store_timeout',
  ])
  proxy.behaviour = {}
  proxy.release()
  expect(await remaining(patient)).toBeGreaterThanOrEqual(LIMIT - 2)
})
