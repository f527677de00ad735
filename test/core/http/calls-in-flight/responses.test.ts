import { meter } from '@sluice/ai'
import { reservationOf } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { reservation } from '@sluice/core/reservations'
import { describe, expect, it, vi } from 'vitest'
import { setUp } from '../../../support/limiters.ts'
import { app } from '../support.ts'
import { cost, endless, failing, oneAtATime, tokens, type Handle } from './support.ts'
import { PATIENTLY } from '../../../support/patience.ts'

/** Answers with a meter that settles the tokens of the answer. */
const metered: Handle = (request) =>
  meter(new Response('four words of text'), {
    settle: ({ output }) => reservationOf(request).settle({ token: output }),
  })

describe('a call in flight', () => {
  it.each<[string, Handle, RequestInit]>([
    ['without a body', () => new Response(null, { status: 204 }), {}],
    ['to HEAD, whose body nobody reads', () => new Response('answer'), { method: 'HEAD' }],
    ['that is an error of the network', () => Response.error(), {}],
  ])('ends with an answer %s', async (_, handle, init) => {
    const { ask, left } = oneAtATime(handle)
    await ask({}, init)
    expect(await left()).toEqual([1, 900])
  })

  it('ends when the client stops reading, after the source has heard of it', async () => {
    const cancel = vi.fn<(reason: unknown) => void>()
    const { ask, left } = oneAtATime(() => new Response(new ReadableStream({ cancel })))
    await (await ask()).body?.cancel('gone')
    expect(cancel).toHaveBeenCalledExactlyOnceWith('gone')
    expect(await left()).toEqual([1, 900])
  })

  it('ends, and cancels the body, if the client is gone when its handler answers', async () => {
    const cancel = vi.fn<() => void>()
    const client = new AbortController()
    const { ask, left } = oneAtATime(() => {
      client.abort()
      return new Response(new ReadableStream({ cancel }))
    })
    expect(await ask({}, { signal: client.signal })).toMatchObject({ status: 499, body: null })
    expect(cancel).toHaveBeenCalledOnce()
    expect(await left()).toEqual([1, 900])
  })

  it('ends when the body breaks off, with the same error', async () => {
    const error = new Error('broken')
    const pull = () => Promise.reject(error)
    const { ask, left } = oneAtATime(() => new Response(new ReadableStream({ pull })))
    await expect((await ask()).text()).rejects.toBe(error)
    expect(await left()).toEqual([1, 900])
  })

  it.each(['read', 'cancelled'])('is ended by a meter whose stream is %s', async (end) => {
    const store = memory()
    const run = vi.spyOn(store, 'run')
    const { ask, left } = oneAtATime(metered, { store })
    const { body } = await ask()
    if (end === 'read') await new Response(body).text()
    else await body?.cancel()
    await vi.waitFor(async () => expect((await left())[0]).toBe(1), PATIENTLY)
    expect((await left())[1]).toBeGreaterThan(900)
    // The settlement has freed the slot, too.
    expect(run).toHaveBeenCalledOnce()
  })

  it.each<[string, object, string]>([
    ['was refused', { tokens: 1 }, 'cost: names "tokens", but'],
    ['failed', { token: 1 }, 'down'],
  ])('ends with its response if settling %s', async (_, actual, message) => {
    const store = memory()
    const { ask, left } = oneAtATime(
      async (request) => {
        vi.spyOn(store, 'run').mockRejectedValueOnce(new Error('down'))
        await expect(reservationOf(request).settle(actual as never)).rejects.toThrow(message)
        vi.restoreAllMocks()
        return new Response()
      },
      { store },
    )
    await ask()
    expect(await left()).toEqual([1, 900])
  })

  it('goes on elsewhere if its data is handed over', async () => {
    let data = ''
    const { ask, left, limiter } = oneAtATime((request) => {
      data = JSON.stringify(reservationOf(request))
      return new Response()
    })
    await ask()
    expect(await left()).toEqual([0, 900])
    await reservation(limiter, data).settle({ token: 7 })
    expect(await left()).toEqual([1, 993])
  })

  it('keeps status, headers and bytes of the response, one chunk for each that is read', async () => {
    let sent = 0
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          sent += 1
          controller.enqueue(Uint8Array.of(sent))
          if (sent === 3) controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const { ask } = oneAtATime(() => new Response(body, { status: 206, headers: { 'x-a': 'b' } }))
    const answer = await ask()
    expect([answer.status, answer.headers.get('x-a'), sent]).toEqual([206, 'b', 0])
    const reader = answer.body?.getReader()
    expect(await reader?.read()).toEqual({ done: false, value: Uint8Array.of(1) })
    expect(sent).toBe(1)
  })

  it('delays no response that it cannot free in the store: the slot comes free by itself', async () => {
    const store = memory()
    const { ask } = oneAtATime(() => new Response('answer'), { store })
    vi.spyOn(store, 'run').mockRejectedValue(new Error('down'))
    expect(await (await ask()).text()).toBe('answer')
  })

  it('is freed where it was charged, in the memory of the process, if the store fails', async () => {
    const store = { check: failing, run: vi.fn<() => Promise<never>>(failing), reset: failing }
    const { ask } = oneAtATime(() => new Response('answer'), { store })
    for (let time = 0; time < 3; time += 1) {
      expect(await (await ask()).text()).toBe('answer')
      // In the store, too, which may have lost only its reply.
      expect(store.run).toHaveBeenCalledTimes(time + 1)
    }
    const open = await oneAtATime(() => endless().answer, { store }).ask()
    expect(open.status).toBe(200)
  })

  it('leaves a response without a slot alone', async () => {
    const { limiter } = setUp([tokens])
    const answer = new Response('answer')
    const { body } = answer
    const read = vi.spyOn(body as ReadableStream, 'getReader')
    await app(limiter, { cost }, () => answer)()
    expect(read).not.toHaveBeenCalled()
  })
})
