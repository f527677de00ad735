import { fixedWindow } from '@sluice/core'
import { reservationOf, reserving, type RequestReservation } from '@sluice/core/http'
import { describe, expect, it, vi } from 'vitest'
import { setUp } from '../../../support/limiters.ts'
import { app } from '../support.ts'
import { common, counting, hasNone } from './support.ts'

/** A cost by the body, which the handler reads once more. */
const byBody = reserving(async (request: Request) => {
  const { tokens } = (await request.clone().json()) as { tokens: number }
  return { token: tokens }
})

/** The response of a denial: that nothing is reserved. */
const onDenied = (_: unknown, request: Request) => new Response(`none: ${hasNone(request)}`)

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
