import { createLimiter, dailyCap, manualClock, slidingWindow, type Limiter } from '@sluice/core'
import { limitGuesses, refuse, type SubjectResolver } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { modelHandler, type ModelApi, type ModelHandlerOptions } from '@sluice/ai'
import { describe, expect, it, vi } from 'vitest'
import { NOON } from '../../support/times.ts'
import { limiterOf, post, PRICES, QUESTION, used } from '../doors.ts'

const ADDRESS = '192.0.2.1'

/** A limiter of guesses: three a minute from an address. */
const guessLimiter = (): Limiter<'address'> =>
  createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    policies: [slidingWindow({ name: 'guesses', limit: 3, window: '1m', per: ['address'] })],
  })

/** A subject for the one right token. */
const resolve: SubjectResolver = ({ headers }) =>
  headers.get('authorization') === 'Bearer right' ? { tenant: 'acme' } : undefined

const right = { headers: { authorization: 'Bearer right' } }
const wrong = { headers: { authorization: 'Bearer wrong' } }

const PREFLIGHT = {
  method: 'OPTIONS',
  headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
}

const preflight = () => new Request('https://app.example/v1/chat/completions', PREFLIGHT)

const BANNED = refuse({
  status: 403,
  code: 'banned',
  message: 'Banned.',
  headers: { 'x-why': 'abuse' },
})

const APIS: readonly ModelApi[] = ['openai-chat', 'anthropic-messages']

describe.each(APIS)('modelHandler for %s', (api) => {
  const question = { ...QUESTION, max_tokens: 50 }

  function handlerWith(options: Partial<ModelHandlerOptions> = {}) {
    const limiter = limiterOf()
    const subject = vi.fn<SubjectResolver>(resolve)
    const send = vi.fn<() => Response>(() => Response.json({}))
    const handle = modelHandler(limiter, { subject, prices: PRICES, api, ...options }, send)
    return { limiter, subject, send, handle }
  }

  function guarded() {
    const guesses = guessLimiter()
    const unauthenticated = limitGuesses(guesses, () => ({ address: ADDRESS }))
    return { guesses, ...handlerWith({ unauthenticated }) }
  }

  describe('with a limit on guesses', () => {
    it('checks the credentials of no more requests than the limit', async () => {
      const { handle, subject, send } = guarded()
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => handle(post(question, wrong))),
      )
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      expect(statuses).toEqual([401, 401, 401, 429, 429, 429, 429, 429])
      expect(subject).toHaveBeenCalledTimes(3)
      expect(send).not.toHaveBeenCalled()
    })

    it('tells of too many guesses in the shape of the provider', async () => {
      const { handle } = guarded()
      for (let guess = 0; guess < 3; guess += 1) await handle(post(question, wrong))
      const answer = await handle(post(question, right))
      expect(answer.status).toBe(429)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      const { error } = (await answer.json()) as { error: object }
      expect(error).toMatchObject(
        api === 'openai-chat' ? { code: 'rate_limit_exceeded' } : { type: 'rate_limit_error' },
      )
    })

    it('asks nobody to pay for guesses', async () => {
      const guesses = createLimiter({
        store: memory(),
        clock: manualClock(NOON),
        policies: [dailyCap({ name: 'guesses', limit: 1, per: ['address'] })],
      })
      const unauthenticated = limitGuesses(guesses, () => ({ address: ADDRESS }))
      const { handle } = handlerWith({ unauthenticated, spentStatus: 402 })
      await handle(post(question, wrong))
      expect((await handle(post(question, wrong))).status).toBe(429)
    })

    it('gives the unit of a guess back when the credentials are right', async () => {
      const { handle, limiter, guesses } = guarded()
      for (let call = 0; call < 10; call += 1) {
        expect((await handle(post(question, right))).status).toBe(200)
      }
      expect(await used(limiter, 'rpm')).toBe(10)
      const [left] = (await guesses.peek({ address: ADDRESS }, { cost: 0 })).policies
      expect(left?.remaining).toBe(3)
    })
  })

  it('keeps the status, the code and the headers of a refusal', async () => {
    const { handle } = handlerWith({ subject: () => BANNED })
    const answer = await handle(post(question))
    expect(answer.status).toBe(403)
    expect(answer.headers.get('x-why')).toBe('abuse')
    expect(await answer.json()).toMatchObject({ error: { message: 'Banned.' } })
  })

  it('treats a preflight as any request, unless it may pass', async () => {
    const { handle, subject } = handlerWith()
    expect((await handle(preflight())).status).toBe(401)
    expect(subject).toHaveBeenCalledTimes(1)
    const passing = handlerWith({ preflight: 'pass' })
    const answer = await passing.handle(preflight())
    expect(answer.status).toBe(204)
    expect(passing.subject).not.toHaveBeenCalled()
    expect(passing.send).not.toHaveBeenCalled()
    expect(await used(passing.limiter, 'rpm')).toBe(0)
  })

  it('lets no OPTIONS pass that has credentials', async () => {
    const { handle, limiter } = handlerWith({ preflight: 'pass' })
    const headers = { ...PREFLIGHT.headers, ...right.headers }
    const request = new Request('https://app.example/', { method: 'OPTIONS', headers })
    expect((await handle(request)).status).toBe(400)
    expect(await used(limiter, 'rpm')).toBe(1)
  })

  it('sends a denial with the headers that are asked for', async () => {
    const limiter = limiterOf(slidingWindow({ name: 'one', limit: 1, window: '1m', per: 'global' }))
    const options = { subject: resolve, prices: PRICES, api, headers: [] } as const
    const handle = modelHandler(limiter, options, () => Response.json({}))
    await handle(post(question, right))
    const { status, headers } = await handle(post(question, right))
    expect(status).toBe(429)
    expect(headers.has('retry-after')).toBe(true)
    expect([...headers.keys()].filter((name) => /ratelimit/.test(name))).toEqual([])
  })
})
