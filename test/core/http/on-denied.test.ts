import { limitGuesses } from '@sluice/core/http'
import { describe, expect, it, vi } from 'vitest'
import { app, perMinute } from './support.ts'

describe('onDenied', () => {
  it('answers in place of the 429, with the headers of the limits', async () => {
    const headers = { 'x-cache': 'hit' }
    const ask = app(perMinute(1), { onDenied: () => Response.json({ cached: true }, { headers }) })
    await ask()
    const answer = await ask()
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ cached: true })
    expect(answer.headers.get('x-cache')).toBe('hit')
    expect(answer.headers.get('ratelimit')).toMatch(/^"rpm";r=0;t=\d+$/)
    expect(answer.headers.has('retry-after')).toBe(true)
  })

  it('may return one stored response if it clones it', async () => {
    const stored = Response.json({ cached: true })
    const ask = app(perMinute(1), { onDenied: () => stored.clone() })
    await ask()
    for (let time = 0; time < 3; time += 1)
      expect(await (await ask()).json()).toEqual({ cached: true })
    expect(stored.headers.has('ratelimit')).toBe(false)
  })

  it('answers with the 429 when it returns undefined', async () => {
    const onDenied = vi.fn<(decision: object, request: Request) => undefined>()
    const ask = app(perMinute(1), { onDenied })
    await ask()
    expect(onDenied).not.toHaveBeenCalled()
    expect((await ask()).status).toBe(429)
    expect(onDenied).toHaveBeenCalledOnce()
  })

  it('gets the decision and the request', async () => {
    const onDenied = vi.fn<(decision: object, request: Request) => undefined>()
    const ask = app(perMinute(1), { onDenied })
    await ask()
    await ask()
    expect(onDenied).toHaveBeenCalledWith(
      expect.objectContaining({ reason: 'rate_limit_exceeded' }),
      expect.any(Request),
    )
  })

  it('fails like a handler when it throws, and the handler does not run', async () => {
    const handle = vi.fn<() => Response>(() => new Response())
    const options = { onDenied: () => Promise.reject(new Error('no cache')) }
    const ask = app(perMinute(1), options, handle)
    await ask()
    await expect(ask()).rejects.toThrow('no cache')
    expect(handle).toHaveBeenCalledOnce()
  })

  it('adds no header when headers are off', async () => {
    const ask = app(perMinute(1), { headers: false, onDenied: () => new Response('cached') })
    await ask()
    expect([...(await ask()).headers.keys()]).toEqual(['content-type'])
  })

  it('is not called for a request without a subject', async () => {
    const onDenied = vi.fn<() => Response>(() => new Response('cached'))
    const ask = app(perMinute(1), {
      onDenied,
      unauthenticated: limitGuesses(perMinute(1), () => ({ tenant: 'nobody' })),
      subject: () => null,
    })
    expect((await ask()).status).toBe(401)
    expect((await ask()).status).toBe(429)
    expect(onDenied).not.toHaveBeenCalled()
  })
})
