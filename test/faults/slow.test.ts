import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { answer, drip, hang, standIn } from '../support/stand-in.ts'
import { limiterAt, MODES, SECRET, subject, TENANT, TRANSPORTS } from './limiter.ts'

const TIMEOUT_MS = 250

/** Stops the time of deadlines, which goes on by `pass`: a busy machine may need longer to send a request. */
function stopTime(): { pass: (ms: number) => Promise<void> } {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  return { pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)) }
}

/** Tells whether a promise has come to its end after the answers that were on their way. */
async function hasEnded(promise: Promise<unknown>): Promise<boolean> {
  let ended = false
  void promise.finally(() => (ended = true)).catch(() => {})
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  return ended
}

afterEach(() => void vi.useRealTimers())

describe.each(TRANSPORTS)('over %s', (transport) => {
  const SLOW = { 'never answers': hang, 'never ends its answer': drip }

  describe.each(Object.entries(SLOW))('a store that %s', (_, behave) => {
    it.each(MODES)('is aborted at the timeout, and the decision is degraded: %s', async (mode) => {
      const server = await standIn(behave)
      const limiter = limiterAt(server.url, transport, mode, { timeoutMs: TIMEOUT_MS })
      const time = stopTime()
      const deciding = limiter.check(subject)
      await server.arrived()
      await time.pass(TIMEOUT_MS - 1)
      expect(await hasEnded(deciding)).toBe(false)
      await time.pass(1)
      const decision = await deciding
      expect(decision.degraded).toEqual({ cause: 'store_timeout', mode })
      expect(decision.allowed).toBe(mode !== 'deny')
      // The server sees the connection close: the request is not left running.
      await server.aborted
      expect(server.bodies).toHaveLength(1)
      await server.close()
    })

    it('makes reset throw at the timeout', async () => {
      const server = await standIn(behave)
      const limiter = limiterAt(server.url, transport, 'allow', { timeoutMs: TIMEOUT_MS })
      const time = stopTime()
      const resetting = limiter.reset(subject).catch((thrown: unknown) => thrown)
      await server.arrived()
      await time.pass(TIMEOUT_MS)
      const error: unknown = await resetting
      expect(error).toMatchObject({ name: 'StoreError', code: 'store_timeout' })
      expect((error as Error).stack).not.toMatch(`${SECRET}|${TENANT}`)
      await server.aborted
      await server.close()
    })
  })

  it('one deadline covers NOSCRIPT and the request after it', async () => {
    const noScript = answer(400, JSON.stringify({ error: 'NOSCRIPT No matching script.' }))
    let asked = 0
    const server = await standIn((response, request) => {
      asked += 1
      const behave = asked === 1 ? noScript : hang
      behave(response, request)
    })
    const limiter = limiterAt(server.url, transport, 'allow', { timeoutMs: TIMEOUT_MS })
    const time = stopTime()
    const deciding = limiter.check(subject)
    await server.arrived(2)
    await time.pass(TIMEOUT_MS)
    expect((await deciding).degraded?.cause).toBe('store_timeout')
    await server.aborted
    expect(server.bodies.map((body) => (JSON.parse(body) as string[])[0])).toEqual([
      'EVALSHA',
      'EVAL',
    ])
    await server.close()
  })

  it('a store that always answers NOSCRIPT gets two requests', async () => {
    const server = await standIn(answer(400, JSON.stringify({ error: 'NOSCRIPT No script.' })))
    const decision = await limiterAt(server.url, transport, 'allow').check(subject)
    expect(decision.degraded?.cause).toBe('store_refused')
    expect(server.bodies).toHaveLength(2)
    await server.close()
  })

  it('many requests aborted at once leave nothing behind', async () => {
    const server = await standIn(hang)
    const limiter = limiterAt(server.url, transport, 'local', { timeoutMs: TIMEOUT_MS })
    const decisions = await Promise.all(Array.from({ length: 25 }, () => limiter.check(subject)))
    // Held to the same limit of 20 meanwhile.
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20)
    expect(new Set(decisions.map(({ degraded }) => degraded?.cause))).toEqual(
      new Set(['store_timeout']),
    )
    await server.close()
  })
})

describe('the built-in transport', () => {
  const policies = [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })]

  it.each([301, 302, 307, 308])(
    'does not follow a redirect (%i) to another host',
    async (status) => {
      const elsewhere = await standIn(answer(200, '{"result":[0,1,1,0,0]}'))
      const server = await standIn(answer(status, '', { location: elsewhere.url }))
      const decision = await limiterAt(server.url, 'the built-in transport', 'deny').check(subject)
      expect(decision.degraded?.cause).toBe('store_refused')
      expect(elsewhere.bodies).toEqual([])
      await server.close()
      await elsewhere.close()
    },
  )

  it('keeps to its timeout with a fetch that ignores its signal', async () => {
    const store = upstash({
      url: 'http://unused.invalid',
      token: SECRET,
      timeoutMs: TIMEOUT_MS,
      fetch: () => new Promise(() => {}),
    })
    const limiter = createLimiter({ store, policies, onStoreError: 'deny' })
    expect((await limiter.check(subject)).degraded?.cause).toBe('store_timeout')
  })

  it.each([
    [
      'throws at once',
      () => {
        throw new Error(`${SECRET} ${TENANT}`)
      },
    ],
    ['rejects', () => Promise.reject(new Error(`${SECRET} ${TENANT}`))],
    ['returns nothing', () => Promise.resolve(undefined as never)],
  ])('survives a fetch that %s', async (_, fetch) => {
    const store = upstash({ url: 'http://unused.invalid', token: SECRET, fetch })
    const limiter = createLimiter({ store, policies, onStoreError: 'deny' })
    const decision = await limiter.check(subject)
    expect(decision.degraded?.cause).toBe('store_unreachable')
    expect(JSON.stringify(decision)).not.toMatch(`${SECRET}|${TENANT}`)
  })
})
