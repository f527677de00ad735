import { retryingFetch } from '@sluice/core/client'
import { describe, expect, it } from 'vitest'
import { clientOf, refused, ADDRESS } from './support.ts'

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
    expect((await send(ADDRESS, { method: 'POST', body: make() })).status).toBe(200)
    expect(bodies).toHaveLength(3)
    expect(bodies.every((body) => body.includes('body'))).toBe(true)
  })

  it.each(Object.entries(LASTING))('of a Request, made of %s, is too', async (_, make) => {
    const { send, bodies } = clientOf([shortly(), shortly()])
    const request = new Request(ADDRESS, { method: 'POST', body: make() })
    expect((await send(request)).status).toBe(200)
    expect(bodies).toHaveLength(3)
    expect(bodies.every((body) => body.includes('body'))).toBe(true)
  })

  it('that is a stream is sent once, and the refusal comes back', async () => {
    const { send, bodies, waits } = clientOf([shortly()])
    const body = new Blob(['body']).stream()
    const response = await send(ADDRESS, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect([response.status, bodies, waits]).toEqual([429, ['body'], []])
  })

  it('of a Request that has been read is not sent', async () => {
    const { send, waits } = clientOf([shortly()])
    const request = new Request(ADDRESS, { method: 'POST', body: 'body' })
    await request.text()
    await expect(send(request)).rejects.toThrow(TypeError)
    expect(waits).toEqual([])
  })

  it('replaces that of a Request, each time', async () => {
    const { send, bodies } = clientOf([shortly()])
    const request = new Request(ADDRESS, { method: 'POST', body: 'old' })
    await send(request, { body: 'new' })
    expect(bodies).toEqual(['new', 'new'])
  })

  it('of the refusal is discarded, so that its connection is free', async () => {
    let cancelled = false
    const answer = new Response(new ReadableStream({ cancel: () => void (cancelled = true) }), {
      status: 429,
    })
    const { send } = clientOf([answer], { sleep: async () => expect(cancelled).toBe(true) })
    expect((await send(ADDRESS)).status).toBe(200)
    expect(cancelled).toBe(true)
  })

  it('of the refusal may break while it is discarded', async () => {
    const broken = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) })
    const { send } = clientOf([new Response(broken, { status: 429 })])
    expect((await send(ADDRESS)).status).toBe(200)
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
    await send(ADDRESS, init)
    expect(waits).toHaveLength(isRetried ? 1 : 0)
  })

  it.each<[RequestInit, number]>([
    [{ method: 'put', body: 'x' }, 1],
    [{ method: 'POST' }, 0],
    [{ method: 'POST', headers: key }, 1],
  ])('by the method and the key of a Request, too: %o', async (init, retries) => {
    const { send, waits } = clientOf([shortly(503)])
    await send(new Request(ADDRESS, init))
    expect(waits).toHaveLength(retries)
  })

  it('never after a failure of the connection', async () => {
    const { send, waits } = clientOf([], {
      fetch: () => Promise.reject(new TypeError('fetch failed')),
    })
    await expect(send(ADDRESS)).rejects.toThrow('fetch failed')
    expect(waits).toEqual([])
  })
})

describe('an abort ends the wait, with its reason', () => {
  it.each<[string, (signal: AbortSignal) => [string | Request, RequestInit?]]>([
    ['options', (signal) => [ADDRESS, { signal }]],
    ['a Request', (signal) => [new Request(ADDRESS, { signal })]],
  ])('of the signal in %s', async (_, requestWith) => {
    const controller = new AbortController()
    let calls = 0
    // Sleeps by a real timer.
    const send = retryingFetch({
      fetch: async () => {
        calls += 1
        return refused({ 'Retry-After': '50' })
      },
      onRetry: () => queueMicrotask(() => controller.abort(new Error('changed my mind'))),
    })
    await expect(send(...requestWith(controller.signal))).rejects.toThrow('changed my mind')
    expect(calls).toBe(1)
  })

  it('and a signal in the options replaces that of the Request', async () => {
    const request = new Request(ADDRESS, { signal: AbortSignal.abort(new Error('an old signal')) })
    const answers = [shortly(), new Response()]
    const { send } = clientOf([], { fetch: async () => answers.shift() ?? new Response() })
    expect((await send(request, { signal: null })).status).toBe(200)
    expect(answers).toEqual([])
  })
})
