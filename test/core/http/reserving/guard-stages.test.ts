import { InputError, type Cost } from '@sluice/core'
import {
  limitGuesses,
  rateLimit,
  reservationOf,
  reserving,
  type AdapterOptions,
} from '@sluice/core/http'
import { describe, expect, it, vi } from 'vitest'
import { app, perMinute } from '../support.ts'
import { counting, hasNone } from './support.ts'

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
