import { retryingFetch } from '@sluice/core/client'
import { describe, expect, it } from 'vitest'
import { clientOf, refused, URL_ } from './support.ts'

const shortly = (status?: number) => refused({ 'Retry-After': '1' }, status)
const bytes = new TextEncoder().encode('body')

function form(): FormData {
  const data = new FormData()
  data.set('name', 'body')
  return data
}

/** Bodies that can be read any number of times. */
const LASTING: Readonly<Record<string, () => BodyInit>> = {
  'a text': () => 'body',
  bytes: () => bytes,
  'an ArrayBuffer': () => bytes.buffer,
  'a Blob': () => new Blob(['body']),
  'a form': form,
  'search parameters': () => new URLSearchParams({ name: 'body' }),
}

describe('a body', () => {
  it.each(Object.entries(LASTING))('that is %s is sent again, whole', async (_, make) => {
    const { send, bodies } = clientOf([shortly(), shortly()])
    expect((await send(URL_, { method: 'POST', body: make() })).status).toBe(200)
    expect(bodies).toHaveLength(3)
    expect(bodies.every((body) => body.includes('body'))).toBe(true)
  })

  it.each(Object.entries(LASTING))('of a Request, made of %s, is too', async (_, make) => {
    const { send, bodies } = clientOf([shortly(), shortly()])
    const request = new Request(URL_, { method: 'POST', body: make() })
    expect((await send(request)).status).toBe(200)
    expect(bodies).toHaveLength(3)
    expect(bodies.every((body) => body.includes('body'))).toBe(true)
  })

  it('that is a stream is sent once, and the refusal comes back', async () => {
    const { send, bodies, waits } = clientOf([shortly()])
    const body = new Blob(['body']).stream()
    const response = await send(URL_, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect([response.status, bodies, waits]).toEqual([429, ['body'], []])
  })

  it('of a Request that has been read is not sent', async () => {
    const { send, waits } = clientOf([shortly()])
    const request = new Request(URL_, { method: 'POST', body: 'body' })
    await request.text()
    await expect(send(request)).rejects.toThrow(TypeError)
    expect(waits).toEqual([])
  })

  it('replaces that of a Request, each time', async () => {
    const { send, bodies } = clientOf([shortly()])
    const request = new Request(URL_, { method: 'POST', body: 'old' })
    await send(request, { body: 'new' })
    expect(bodies).toEqual(['new', 'new'])
  })

  it('of the refusal is discarded, so that its connection is free', async () => {
    let cancelled = false
    const answer = new Response(new ReadableStream({ cancel: () => void (cancelled = true) }), {
      status: 429,
    })
    const { send } = clientOf([answer], { sleep: async () => expect(cancelled).toBe(true) })
    expect((await send(URL_)).status).toBe(200)
    expect(cancelled).toBe(true)
  })

  it('of the refusal may break while it is discarded', async () => {
    const broken = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) })
    const { send } = clientOf([new Response(broken, { status: 429 })])
    expect((await send(URL_)).status).toBe(200)
  })
})

describe('a request is sent again', () => {
  const key = { 'Idempotency-Key': 'order-17' }

  it.each<[string, Response, RequestInit, boolean]>([
    ['429, as nothing has been executed', shortly(), { method: 'POST' }, true],
    ['403 with a wait', shortly(403), { method: 'POST' }, true],
    ['403 for lack of rights', refused({ 'x-ratelimit-remaining': '4990' }, 403), {}, false],
    ['503 with a wait', shortly(503), {}, true],
    ['503 with a wait', shortly(503), { method: 'DELETE' }, true],
    ['503, as it may have been executed', shortly(503), { method: 'POST' }, false],
    ['503, with a key', shortly(503), { method: 'POST', headers: key }, true],
    ['503 without a wait', refused({}, 503), {}, false],
    ['500', shortly(500), {}, false],
    ['401', shortly(401), {}, false],
    ['200', shortly(200), {}, false],
    ['429 that says not to', refused({ 'x-should-retry': 'false' }), {}, false],
    ['500 that says to', refused({ 'x-should-retry': 'true' }, 500), { method: 'POST' }, true],
    ['200 that says to', refused({ 'x-should-retry': 'true' }, 200), {}, false],
  ])('after %s: %o %o', async (_, answer, init, isRetried) => {
    const { send, waits } = clientOf([answer])
    await send(URL_, init)
    expect(waits).toHaveLength(isRetried ? 1 : 0)
  })

  it('by the method and the key of a Request, too', async () => {
    const ask = async (init: RequestInit) => {
      const { send, waits } = clientOf([shortly(503)])
      await send(new Request(URL_, init))
      return waits.length
    }
    expect(await ask({ method: 'put', body: 'x' })).toBe(1)
    expect(await ask({ method: 'POST' })).toBe(0)
    expect(await ask({ method: 'POST', headers: key })).toBe(1)
  })

  it('never after a failure of the connection', async () => {
    const fails = () => Promise.reject(new TypeError('fetch failed'))
    const { send, waits } = clientOf([], { fetch: fails })
    await expect(send(URL_)).rejects.toThrow('fetch failed')
    expect(waits).toEqual([])
  })
})

describe('an abort ends the wait, with its reason', () => {
  /** Sends through real timers, and aborts as soon as it waits. */
  async function abortWhileWaiting(send: (fetch: typeof globalThis.fetch) => Promise<Response>) {
    const calls: number[] = []
    const fetch = async () => {
      calls.push(0)
      return refused({ 'Retry-After': '50' })
    }
    await expect(send(fetch)).rejects.toThrow('changed my mind')
    expect(calls).toHaveLength(1)
  }

  it.each(['init', 'Request'])('of the signal in a %s', async (where) => {
    const controller = new AbortController()
    const onRetry = () => queueMicrotask(() => controller.abort(new Error('changed my mind')))
    const init = { signal: controller.signal }
    await abortWhileWaiting((fetch) => {
      const send = retryingFetch({ fetch, onRetry })
      return where === 'init' ? send(URL_, init) : send(new Request(URL_, init))
    })
  })

  it('and a signal in init replaces that of the Request', async () => {
    const request = new Request(URL_, { signal: AbortSignal.abort(new Error('an old signal')) })
    const { send, waits } = clientOf([shortly()], {
      fetch: async () => (waits.length === 0 ? shortly() : new Response()),
    })
    expect((await send(request, { signal: null })).status).toBe(200)
  })
})
