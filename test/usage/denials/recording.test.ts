import { createLimiter, dailyCap, manualClock, slidingWindow } from '@sluice/core'
import { LIST_PRICES, modelHandler } from '@sluice/ai'
import { rateLimit, reserving } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { waiting, waitingLine } from '@sluice/core/waiting'
import {
  denialId,
  flushDenials,
  listDenials,
  readDenial,
  recordDenials,
} from '@sluice/usage/denials'
import { describe, expect, it, vi } from 'vitest'
import { collectProblems, setUp } from '../../support/limiters.ts'
import { PATIENTLY } from '../../support/patience.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { DAY, NOON } from '../../support/times.ts'
import { Watched } from '../../support/watched-store.ts'

const rpm = slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })
const daily = dailyCap({ name: 'daily', limit: 500, per: ['tenant'] })
const SUBJECT = { tenant: 'acme', route: 'chat', user: 'u_1' }
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

const sent = (headers: Record<string, string> = {}): Request =>
  new Request('https://app.example/api/chat', {
    method: 'POST',
    headers,
    body: '{"model":"gpt-4o","messages":[]}',
  })

const handle = (): Response => new Response('ok')

const answering = (limiter: ReturnType<typeof setUp>['limiter'], format?: 'openai') =>
  rateLimit(
    limiter,
    {
      routes: ['/api/**'],
      subject: () => SUBJECT,
      onDenied: denialId({ ...(format && { format }) }),
    },
    handle,
  )

describe.each(STORES_TO_TEST)('denials, over %s', (name) => {
  const make = storesOf(name)

  it('are led to by the id of the answer, for a day', async () => {
    const { limiter, clock } = setUp([rpm, daily], {
      store: make(),
      extensions: [recordDenials({ flushEvery: '1h' })],
    })
    const app = answering(limiter)
    expect((await app(sent())).headers.has('x-request-id')).toBe(false)
    clock.advance(20_000)
    const denied = await app(sent())
    const id = denied.headers.get('x-request-id') ?? ''
    expect([denied.status, id]).toEqual([429, expect.stringMatching(UUID)])
    expect(denied.headers.get('retry-after')).toBe('40')
    expect(await denied.json()).toMatchObject({ policy: 'rpm' })
    const own = await app(sent({ 'x-request-id': 'req_7' }))
    expect(own.headers.get('x-request-id')).toBe('req_7')
    await flushDenials(limiter)
    const facts = {
      at: NOON + 20_000,
      subject: { route: '/api/**', user: 'u_1' },
      reason: 'rate_limit_exceeded',
      retryAfterMs: 40_000,
      policies: [
        {
          name: 'rpm',
          unit: 'request',
          limit: 1,
          burst: 1,
          windowMs: 60_000,
          remaining: 0,
          cost: 1,
          fits: false,
          enforced: true,
          retryAfterMs: 40_000,
        },
        {
          name: 'daily',
          unit: 'request',
          limit: 500,
          burst: 500,
          windowMs: DAY,
          remaining: 499,
          cost: 1,
          fits: true,
          enforced: true,
          retryAfterMs: 0,
        },
      ],
    }
    clock.advance(500)
    await app(sent({ 'x-request-id': 'req_8' }))
    await flushDenials(limiter)
    clock.advance(DAY - 1_500)
    const [latest, ...others] = await listDenials(limiter, 'acme')
    expect(latest).toMatchObject({ id: 'req_8', at: facts.at + 500 })
    expect(new Set(others.map((denial) => denial.id))).toEqual(new Set([id, 'req_7']))
    expect(others[0]).toEqual(await readDenial(limiter, 'acme', others[0]?.id ?? ''))
    expect(await readDenial(limiter, 'acme', id)).toEqual({ id, ...facts })
    expect(await readDenial(limiter, 'acme', 'req_7')).toEqual({ id: 'req_7', ...facts })
    expect(await readDenial(limiter, 'other', id)).toBeUndefined()
    expect(await listDenials(limiter, 'other')).toEqual([])
    for (const no of ['', 'nope', '__proto__'])
      expect(await readDenial(limiter, 'acme', no)).toBeUndefined()
  })

  it('are kept up to a number for each tenant and day, of all isolates together', async () => {
    const store = make()
    const clock = manualClock(NOON)
    const isolates = [1, 2, 3].map(() =>
      createLimiter({
        store,
        policies: [rpm],
        clock,
        extensions: [recordDenials({ most: 5, flushEvery: '1h' })],
      }),
    )
    const ids: string[] = []
    for (let round = 0; round < 3; round += 1) {
      for (const limiter of isolates) {
        const app = answering(limiter)
        for (let count = 0; count < 2; count += 1) {
          const id = (await app(sent())).headers.get('x-request-id')
          if (id !== null) ids.push(id)
        }
      }
      await Promise.all(isolates.map(flushDenials))
    }
    const limiter = isolates[0] as (typeof isolates)[number]
    const found = await Promise.all(ids.map((id) => readDenial(limiter, 'acme', id)))
    expect(found.filter((one) => one !== undefined)).toHaveLength(5)
    // Once an isolate knows that there is no room, its answers promise nothing.
    const last = await answering(limiter)(sent())
    expect([last.status, last.headers.get('x-request-id')]).toEqual([429, null])
    clock.advance(DAY)
    await isolates[1]?.check(SUBJECT)
    const next = (await answering(limiter)(sent())).headers.get('x-request-id') ?? ''
    await flushDenials(limiter)
    expect(await readDenial(limiter, 'acme', next)).toMatchObject({ id: next })
  })
})

it('a flood costs a bounded number of calls, and no trip of its own', async () => {
  const store = new Watched(memory())
  const { limiter } = setUp([rpm], {
    store,
    extensions: [recordDenials({ flushEvery: '1h', most: 30 })],
  })
  for (let count = 0; count < 2_000; count += 1) await limiter.check(SUBJECT)
  expect(store.calls).toMatchObject({ decisions: 2_000, reads: 0, writes: 0 })
  for (let round = 0; round < 5; round += 1) {
    await flushDenials(limiter)
    for (let count = 0; count < 100; count += 1) await limiter.check(SUBJECT)
  }
  // Twenty, ten, and none.
  expect(store.calls).toMatchObject({ reads: 2, writes: 2 })
})

describe('each door answers with the id', () => {
  const policies = [waitingLine(rpm)]
  const options = { routes: ['/api/**'], subject: () => SUBJECT, onDenied: denialId() }
  const upstream = { url: 'https://api.openai.com/v1/chat/completions', key: 'k' }
  it.each([
    ['a check', (limiter) => rateLimit(limiter, options, handle)],
    ['a reservation', (limiter) => rateLimit(limiter, { ...options, cost: reserving(1) }, handle)],
    ['a wait', (limiter) => rateLimit(limiter, { ...options, cost: waiting('1s', 1) }, handle)],
    [
      'a model call',
      (limiter) =>
        modelHandler(
          limiter,
          { subject: () => SUBJECT, prices: LIST_PRICES, onDenied: denialId() },
          upstream,
        ),
    ],
  ] satisfies [
    string,
    (limiter: ReturnType<typeof setUp>['limiter']) => (request: Request) => Promise<Response>,
  ][])('of %s', async (_, door) => {
    const { limiter } = setUp(policies, { extensions: [recordDenials({ flushEvery: '1h' })] })
    await limiter.check(SUBJECT)
    const answer = await door(limiter)(sent({ 'x-request-id': 'req_8' }))
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([429, 'req_8'])
    await flushDenials(limiter)
    expect(await readDenial(limiter, 'acme', 'req_8')).toMatchObject({
      reason: 'rate_limit_exceeded',
    })
  })

  it('in the format of the adapter', async () => {
    const { limiter } = setUp(policies, { extensions: [recordDenials({ flushEvery: '1h' })] })
    await limiter.check(SUBJECT)
    expect(await (await answering(limiter, 'openai')(sent())).json()).toMatchObject({
      error: { code: 'rate_limit_exceeded' },
    })
  })

  it.each(['a b', 'x'.repeat(129), '<script>'])('but not with an id such as %j', async (id) => {
    const { limiter } = setUp(policies, { extensions: [recordDenials({ flushEvery: '1h' })] })
    await limiter.check(SUBJECT)
    const answer = await answering(limiter)(sent({ 'x-request-id': id }))
    expect(answer.headers.get('x-request-id')).toMatch(UUID)
  })
})

describe('what goes wrong', () => {
  it('is said, and stops no request', async () => {
    const store = new Watched(memory())
    const { problems, listener } = collectProblems()
    const { limiter } = setUp([rpm], {
      store,
      extensions: [recordDenials({ flushEvery: '5ms' }), listener],
    })
    await limiter.check(SUBJECT)
    await limiter.check(SUBJECT)
    store.isDown = true
    await expect
      .poll(() => problems)
      .toMatchObject([{ code: 'usage_incomplete', message: 'Denials could not be recorded' }])
    store.isDown = false
    expect(await limiter.check(SUBJECT)).toMatchObject({ allowed: false })
  })

  it('goes on after a request whose platform has cut its flush off', async () => {
    vi.useFakeTimers()
    try {
      const { limiter } = setUp([rpm], { extensions: [recordDenials()] })
      await limiter.check(SUBJECT)
      const app = answering(limiter)
      const first = (await app(sent())).headers.get('x-request-id') ?? ''
      vi.clearAllTimers()
      await vi.advanceTimersByTimeAsync(20_000)
      await app(sent())
      await vi.advanceTimersByTimeAsync(5_000)
      // Hashing the tenant takes a real moment.
      vi.useRealTimers()
      await vi.waitFor(
        async () => expect(await readDenial(limiter, 'acme', first)).toMatchObject({ id: first }),
        PATIENTLY,
      )
    } finally {
      vi.useRealTimers()
    }
  })

  it('names an id that is no text', async () => {
    const { limiter } = setUp([rpm], { extensions: [recordDenials()] })
    await expect(readDenial(limiter, 'acme', undefined as never)).rejects.toMatchObject({
      code: 'invalid_subject',
    })
  })

  it('as an option, names it', () => {
    const wrong = [
      { tenants: 'none' },
      { most: 0 },
      { flushEvery: 'soon' },
      { waitUntil: 5 },
      { max: 5 },
    ]
    for (const options of wrong) {
      const [name] = Object.keys(options)
      expect(() => recordDenials(options as never)).toThrow(`recordDenials.${name}`)
    }
    expect(() => denialId({ body: 5 } as never)).toThrow('denialId.body')
    const { limiter } = setUp([rpm])
    expect(() => flushDenials(limiter)).toThrow(/recordDenials\(…\) in its extensions/)
  })
})
