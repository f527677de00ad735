import { createLimiter, fixedWindow, InputError, type Cost } from '@sluice/core'
import {
  limitGuesses,
  rateLimit,
  reservationOf,
  reserving,
  type AdapterOptions,
  type RequestReservation,
} from '@sluice/core/http'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it, vi } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { setUp } from '../../support/limiters.ts'
import { mistakesAreNamed } from '../../support/mistakes.ts'
import { app, perMinute, setUpAtMidnight } from './support.ts'

const common = { window: '1h', per: ['tenant'] } as const

/** A limiter of 10 requests and 1,000 tokens, and what a tenant has left of each. */
function counting() {
  const { limiter } = setUpAtMidnight(
    fixedWindow({ name: 'rpm', limit: 10, ...common }),
    fixedWindow({ name: 'tpm', limit: 1_000, unit: 'token', ...common }),
  )
  const left = async (tenant = 'acme') => {
    const { policies } = await limiter.peek({ tenant }, { cost: { token: 0 } })
    return policies.map(({ remaining }) => remaining)
  }
  return { limiter, left }
}

/** A cost by the body, which the handler reads once more. */
const byBody = reserving(async (request: Request) => {
  const { tokens } = (await request.clone().json()) as { tokens: number }
  return { token: tokens }
})

/** The response of a denial: that nothing is reserved. */
const onDenied = (_: unknown, request: Request) => new Response(`none: ${hasNone(request)}`)

/** Returns true if nothing is reserved for this request. */
function hasNone(request: Request): boolean {
  try {
    return reservationOf(request) === undefined
  } catch (error) {
    return (error as Error).message.startsWith('Sluice: reservationOf.request: must be')
  }
}
const down = () => Promise.reject(new Error('down'))

/** A limiter whose store fails. */
const limiterDown = (onStoreError: 'allow' | 'deny' | 'local') =>
  createLimiter({
    store: { check: down, run: down, reset: down },
    policies: [fixedWindow({ name: 'tpm', limit: 100, unit: 'token', ...common })],
    onStoreError,
  })

const json = (value: object) => ({ method: 'POST', body: JSON.stringify(value) })

describe('a handler behind reserving', () => {
  it('settles what one decision has reserved: requests and tokens', async () => {
    const { limiter, left } = counting()
    const during: number[][] = []
    const ask = app(limiter, { cost: byBody }, async (request) => {
      during.push(await left())
      await reservationOf(request).settle({ token: 80 })
      return new Response(await request.text())
    })
    const answer = await ask({}, json({ tokens: 300 }))
    expect(await answer.json()).toEqual({ tokens: 300 })
    expect(answer.headers.get('ratelimit')).toBe('"rpm";r=9;t=3600, "tpm";r=700;t=3600')
    expect(during).toEqual([[9, 700]])
    expect(await left()).toEqual([9, 920])
  })

  it('gets the decision and the subject that the adapter found', async () => {
    let call: RequestReservation | undefined
    const routes = [{ path: '/api/ai/**', id: 'chat' }]
    await app(counting().limiter, { routes, cost: byBody }, (request) => {
      call = reservationOf(request)
      return new Response()
    })({}, json({ tokens: 1 }))
    expect(call?.subject).toEqual({ tenant: 'acme', route: 'chat' })
    expect(call?.policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['rpm', 9],
      ['tpm', 999],
    ])
  })

  it('that does not settle, or throws, leaves the estimate charged', async () => {
    const { limiter, left } = counting()
    await app(limiter, { cost: reserving({ token: 100 }) })()
    expect(await left()).toEqual([9, 900])
    const failing = app(limiter, { cost: reserving({ token: 100 }) }, () => {
      throw new Error('no answer')
    })
    await expect(failing()).rejects.toThrow('no answer')
    expect(await left()).toEqual([8, 800])
  })

  it('that cancels gets everything back', async () => {
    const { limiter, left } = counting()
    await app(limiter, { cost: reserving({ token: 100 }) }, async (request) => {
      await reservationOf(request).cancel()
      return new Response(null, { status: 400 })
    })()
    expect(await left()).toEqual([10, 1_000])
  })

  it('does not run if one policy denies, and nothing is charged', async () => {
    const { limiter, left } = counting()
    const handle = vi.fn<() => Response>(() => new Response())
    const answer = await app(limiter, { cost: reserving({ token: 1_001 }) }, handle)()
    expect(answer.status).toBe(429)
    expect(answer.headers.get('ratelimit')).toBe('"tpm";r=1000;t=3600')
    expect(await answer.json()).toMatchObject({ error: 'cost_exceeds_limit', policy: 'tpm' })
    expect(await left()).toEqual([10, 1_000])
    const instead = await app(limiter, { cost: reserving({ token: 1_001 }), onDenied }, handle)()
    expect(await instead.text()).toBe('none: true')
    expect(handle).not.toHaveBeenCalled()
  })

  it('may share the adapter with routes that check', async () => {
    const { limiter, left } = counting()
    const isReserved: boolean[] = []
    const routes = [
      { path: '/api/ai/chat', cost: reserving({ token: 500 }) },
      { path: '/api/ai/list', cost: { token: 0 } },
    ]
    const ask = app(limiter, { routes }, async (request) => {
      isReserved.push(!hasNone(request))
      if (request.url.endsWith('chat')) await reservationOf(request).settle({ token: 5 })
      return new Response()
    })
    await ask()
    await ask({}, {}, '/api/ai/list')
    expect(isReserved).toEqual([true, false])
    expect(await left()).toEqual([8, 995])
  })

  it('has no reservation for a copy of its request', async () => {
    const ask = app(counting().limiter, { cost: reserving({ token: 1 }) }, (request) => {
      reservationOf(new Request(request))
      return new Response()
    })
    await expect(ask()).rejects.toThrow('must be the very request that the handler got')
  })

  it('settles once: at the first call', async () => {
    const { limiter, left } = counting()
    await app(limiter, { cost: reserving({ token: 100 }) }, async (request) => {
      const call = reservationOf(request)
      expect((await call.settle({ token: 30 })).applied).toBe(true)
      expect(await call.cancel()).toMatchObject({ applied: false, why: 'settled_before' })
      return new Response()
    })()
    expect(await left()).toEqual([9, 970])
  })

  it('settles no more after settleWithin', async () => {
    const policies = [fixedWindow({ name: 'rpm', limit: 9, ...common })]
    const { limiter, clock } = setUp(policies)
    const cost = reserving(5, { settleWithin: '1m' })
    await app(limiter, { cost }, async (request) => {
      clock.advance(60_001)
      expect(await reservationOf(request).settle(1)).toMatchObject({ why: 'too_late' })
      return new Response()
    })()
  })
})

describe('reserving beside the other stages of a guard', () => {
  it('estimates only for requests with a subject to the route, and after the guess was charged', async () => {
    const estimate = vi.fn<() => Cost>(() => ({ token: 1 }))
    const { limiter } = counting()
    const options: Partial<AdapterOptions> = {
      cost: reserving(estimate),
      preflight: 'pass',
      unauthenticated: limitGuesses(perMinute(1), () => ({ tenant: 'an address' })),
      subject: ({ headers }) => (headers.get('x-tenant') === 'acme' ? { tenant: 'acme' } : null),
    }
    const ask = app(limiter, options)
    const origin = { origin: 'https://page.example', 'access-control-request-method': 'POST' }
    await rateLimit(limiter, { routes: ['/**'], ...options } as AdapterOptions, (request) => {
      expect(hasNone(request)).toBe(true)
      return new Response()
    })(new Request('https://app.example/', { method: 'OPTIONS', headers: origin }))
    expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(200)
    expect((await ask({ 'x-tenant': 'guess' })).status).toBe(401)
    expect((await ask()).status).toBe(429)
    expect(estimate).toHaveBeenCalledTimes(2)
  })

  it('takes the limiter of a function, and the context of the platform', async () => {
    const { limiter, left } = counting()
    interface Env {
      readonly tokens: number
    }
    const make = vi.fn<() => typeof limiter>(() => limiter)
    const handle = rateLimit<[Env]>(
      make,
      {
        routes: ['/**'],
        subject: () => ({ tenant: 'acme' }),
        cost: reserving((_: Request, env: Env) => ({ token: env.tokens })),
      },
      async (request, env) => {
        await reservationOf(request).settle({ token: env.tokens / 2 })
        return new Response()
      },
    )
    for (let time = 0; time < 2; time += 1) {
      await handle(new Request('https://app.example/'), { tokens: 100 })
    }
    expect(make).toHaveBeenCalledOnce()
    expect(await left()).toEqual([8, 900])
  })

  it.each<[string, unknown, string]>([
    ['below 0', { token: -1 }, 'cost.token'],
    ['without a unit that is counted', 1, 'cost.token'],
    ['undefined', undefined, 'cost'],
  ])('refuses an estimate %s with an error that names the route', async (_, wrong, input) => {
    const { limiter, left } = counting()
    const routes = [{ path: '/api/ai/**', id: 'chat', cost: reserving(() => wrong as Cost) }]
    const error: unknown = await app(limiter, { routes })().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InputError)
    expect(error).toMatchObject({ code: 'invalid_cost', input })
    expect((error as Error).message).toMatch(/, on the route "chat" \(docs/)
    expect(await left()).toEqual([10, 1_000])
  })

  it('answers 400 to an id that cannot be counted', async () => {
    const cost = reserving({ token: 1 })
    const answer = await app(counting().limiter, { cost, subject: () => ({ tenant: '' }) })()
    expect(answer.status).toBe(400)
  })
})

describe('reserving while the store fails', () => {
  it('counts and settles in the memory of the process', async () => {
    const limiter = limiterDown('local')
    const ask = app(limiter, { cost: reserving({ token: 60 }) }, async (request) => {
      expect(await reservationOf(request).settle({ token: 50 })).toMatchObject({ applied: true })
      return new Response()
    })
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
    // 50 of 100 are left.
    expect((await reserve(limiter, { tenant: 'acme' }, { cost: { token: 50 } })).allowed).toBe(true)
  })

  it('runs the handler uncounted, or answers 503, as the limiter says', async () => {
    const ask = app(limiterDown('allow'), { cost: reserving({ token: 60 }) }, async (request) => {
      const settled = await reservationOf(request).settle({ token: 1 })
      expect(settled).toMatchObject({ applied: false, why: 'nothing_charged' })
      return new Response()
    })
    expect((await ask()).status).toBe(200)
    expect((await app(limiterDown('deny'), { cost: reserving({ token: 60 }) })()).status).toBe(503)
  })
})

describe('reserving: a mistake in the arguments is an error at construction', () => {
  const loosely = reserving as (...args: unknown[]) => unknown
  mistakesAreNamed([
    ['a cost that is none', () => loosely('5'), 'reserving.cost'],
    ['an unknown option', () => loosely(1, { within: '1h' }), 'reserving.within', 'unknown_option'],
    [
      'a time that is none',
      () => loosely(1, { settleWithin: 'soon' }),
      'reserving.settleWithin',
      'invalid_duration',
    ],
  ])
})

it('a bundle without reserving has nothing of it', async () => {
  const without = await bundle("export { rateLimit, withHeaders } from '@sluice/core/http'")
  expect(without.kept).toContain('packages/core/dist/http/guard.js')
  const ofReservations = /\/(reservations\/|http\/(reserving|call-in-flight|guess-limit)\.js)/
  expect(without.kept.filter((path) => ofReservations.test(path))).toEqual([])
})
