import { EventEmitter, once } from 'node:events'
import { createLimiter, slidingWindow, type Limiter } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { upstash, type Fetch } from '@sluice/core/upstash'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { freshPrefix } from '../../../support/stores.ts'
import { commandsOf, everyResult, textAnswer } from './support.ts'

interface Sent {
  readonly path: string
  readonly body: string
}

let local: LocalServer

beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
})
afterAll(() => local.close())

/** A limiter of 20, and the requests that it sends by way of `answer`. */
function setUp(answer: (sent: Sent, ...args: Parameters<Fetch>) => ReturnType<Fetch> = forward) {
  const sent: Sent[] = []
  const record: Fetch = (url, init) => {
    const request = { path: new URL(url).pathname, body: init.body }
    sent.push(request)
    return answer(request, url, init)
  }
  const { url, token } = local
  const prefix = freshPrefix()
  const make = (timeoutMs = 30_000): Limiter =>
    createLimiter({
      store: upstash({ url, token, prefix, fetch: record, pipeline: true, timeoutMs }),
      policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1h', per: ['tenant'] })],
    })
  return { limiter: make(), make, sent }
}

const forward = (_: Sent, ...[url, init]: Parameters<Fetch>): ReturnType<Fetch> => fetch(url, init)

const checks = (limiter: Limiter, times: number) =>
  Promise.all(Array.from({ length: times }, (_, n) => limiter.check({ tenant: `t${n % 2}` })))

const causes = (decisions: Awaited<ReturnType<typeof checks>>) =>
  decisions.map(({ degraded }) => degraded?.cause)

describe('upstash, on a server,', () => {
  it('sends what one caller does after another in a request for each', async () => {
    const { limiter, sent } = setUp()
    await limiter.check({ tenant: 'acme' })
    await limiter.check({ tenant: 'acme' })
    await limiter.peek({ tenant: 'acme' })
    expect(new Set(sent.map(({ path }) => path))).toEqual(new Set(['/']))
    expect((JSON.parse(sent.at(-1)?.body ?? '') as unknown[])[0]).toBe('EVALSHA')
  })

  it('sends 64 concurrent checks in one request, and they are decided one by one', async () => {
    const { limiter, sent } = setUp()
    await limiter.peek({ tenant: 'warm' })
    sent.length = 0
    const decisions = await checks(limiter, 64)
    expect(sent.map(({ path }) => path)).toEqual(['/pipeline'])
    expect(commandsOf(sent[0]?.body ?? '')).toHaveLength(64)
    expect(causes(decisions).filter(Boolean)).toEqual([])
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(40)
  })

  it('sends seven calls of one moment in one request, whatever they are', async () => {
    const { limiter, make, sent } = setUp()
    const other = make()
    const [toSettle, toCancel] = await Promise.all([
      reserve(limiter, { tenant: 'a' }),
      reserve(limiter, { tenant: 'b' }),
    ])
    if (!toSettle.allowed || !toCancel.allowed) throw new Error('Both fit')
    await Promise.all([limiter.peek({ tenant: 'a' }), limiter.reset({ tenant: 'd' })])
    await toCancel.settle({ request: 1 })
    sent.length = 0
    const decisions = await Promise.all([
      limiter.check({ tenant: 'a' }),
      limiter.peek({ tenant: 'b' }),
      reserve(limiter, { tenant: 'c' }),
      other.check({ tenant: 'd' }),
      reserve(other, { tenant: 'e' }),
      toSettle.settle({ request: 0 }),
      limiter.reset({ tenant: 'f' }),
    ])
    expect(decisions).toHaveLength(7)
    expect(sent.map(({ path, body }) => [path, commandsOf(body).length])).toEqual([
      ['/pipeline', 7],
    ])
  })

  it('goes on to share requests when all callers continue at once', async () => {
    const { limiter, sent } = setUp()
    await limiter.peek({ tenant: 'warm' })
    sent.length = 0
    const caller = async (n: number): Promise<void> => {
      for (let time = 0; time < 5; time += 1) await limiter.check({ tenant: `c${n}` })
    }
    await Promise.all(Array.from({ length: 32 }, (_, n) => caller(n)))
    expect(sent).toHaveLength(5)
  })

  it('finds out together that a script is missing, and that its flag is refused', async () => {
    const { limiter } = setUp()
    const decisions = await checks(limiter, 25)
    expect(causes(decisions).filter(Boolean)).toEqual([])
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
  })

  it('splits a moment of 300 calls into requests of at most 128', async () => {
    const { limiter, sent } = setUp()
    await limiter.peek({ tenant: 'warm' })
    sent.length = 0
    await checks(limiter, 300)
    expect(sent.map(({ body }) => commandsOf(body).length)).toEqual([128, 128, 44])
  })

  it('splits by length, and sends a long call alone', async () => {
    const bodies: number[] = []
    const store = upstash({
      url: 'http://redis.example',
      token: 'token',
      pipeline: true,
      fetch: async (_, { body }) => {
        bodies.push(body.length)
        return everyResult(body)
      },
    })
    await Promise.all(
      [100_000, 100_000, 100_000, 300_000].map((length) => store.reset(['k'.repeat(length)])),
    )
    expect(bodies.map((length) => Math.round(length / 100_000))).toEqual([2, 1, 3])
  })

  it('gives each caller its own reply and error', async () => {
    const { limiter } = setUp(async (_, url, init) => {
      const response = await fetch(url, init)
      if (!url.endsWith('/pipeline')) return response
      const replies = (await response.json()) as object[]
      replies[1] = { error: 'ERR only this one' }
      return textAnswer(200, JSON.stringify(replies))
    })
    await limiter.peek({ tenant: 'warm' })
    expect(causes(await checks(limiter, 4))).toEqual([
      undefined,
      'store_refused',
      undefined,
      undefined,
    ])
  })

  it.each([
    ['a lost reply', () => Promise.reject(new Error('reset')), 'store_unreachable'],
    ['HTML', async () => textAnswer(200, '<html>'), 'store_bad_reply'],
    ['too few replies', async () => textAnswer(200, '[{"result":1}]'), 'store_bad_reply'],
    ['an object', async () => textAnswer(200, '{"result":[1]}'), 'store_bad_reply'],
    ['status 500', async () => textAnswer(500, '{"error":"ERR"}'), 'store_refused'],
    ['status 401', async () => textAnswer(401, '{"error":"no"}'), 'store_unauthorized'],
    ['a Redis error for all', async () => textAnswer(400, '{"error":"ERR no"}'), 'store_refused'],
  ] as const)('%s degrades each call, and none is repeated', async (_, answer, cause) => {
    const { limiter, sent } = setUp((request, url, init) =>
      request.path === '/pipeline' ? answer() : fetch(url, init),
    )
    await limiter.peek({ tenant: 'warm' })
    sent.length = 0
    expect(causes(await checks(limiter, 3))).toEqual([cause, cause, cause])
    expect(sent).toHaveLength(1)
  })

  it('a fetch that throws at once degrades one call by itself at once, too', async () => {
    const { limiter } = setUp(() => {
      throw new Error('no socket')
    })
    expect((await limiter.check({ tenant: 'acme' })).degraded?.cause).toBe('store_unreachable')
  })

  it('ends one caller at its deadline, and no other', async () => {
    let isAborted = false
    const over = new EventEmitter()
    const hastyIsOver = once(over, 'over')
    const { make, sent } = setUp(async (request, url, init) => {
      if (request.path !== '/pipeline') return fetch(url, init)
      init.signal.addEventListener('abort', () => (isAborted = true))
      const response = await fetch(url, init)
      const text = await response.text()
      await hastyIsOver
      return textAnswer(200, text)
    })
    const [patient, hasty] = [make(), make(300)]
    // Both stores know their script by then.
    await patient.peek({ tenant: 'a' })
    await hasty.peek({ tenant: 'a' })
    sent.length = 0
    const [slow, quick] = await Promise.all([
      patient.check({ tenant: 'a' }),
      hasty.check({ tenant: 'a' }).finally(() => over.emit('over')),
    ])
    expect(sent).toHaveLength(1)
    expect(quick.degraded?.cause).toBe('store_timeout')
    expect(slow.degraded).toBeUndefined()
    expect(isAborted).toBe(false)
  })

  it('aborts the request when every caller has given up', async () => {
    let aborted = 0
    const { make } = setUp((request, url, init) => {
      if (request.path !== '/pipeline') return fetch(url, init)
      return new Promise((_, reject) => {
        init.signal.addEventListener('abort', () => {
          aborted += 1
          reject(new Error('aborted'))
        })
      })
    })
    const hasty = make(300)
    await hasty.peek({ tenant: 'a' })
    expect(causes(await checks(hasty, 3))).toEqual(Array.from({ length: 3 }, () => 'store_timeout'))
    expect(aborted).toBe(1)
  })

  it('shares requests between stores of one database and token, and no others', async () => {
    const sent: string[] = []
    const send: Fetch = async (url, { headers, body }) => {
      sent.push(`${url} ${headers['authorization']}`)
      return everyResult(body)
    }
    const reset = (url: string, token: string, fetch = send) =>
      upstash({ url, token, fetch, pipeline: true }).reset(['a'])
    await Promise.all([
      reset('http://a/', '1'),
      reset('http://a/', '2'),
      reset('http://b/', '1'),
      reset('http://a/', '1'),
      reset('http://a/', '1', (...call) => send(...call)),
    ])
    expect(sent).toEqual([
      'http://a/pipeline Bearer 1',
      'http://a/ Bearer 2',
      'http://b/ Bearer 1',
      'http://a/ Bearer 1',
    ])
  })
})
