import { once } from 'node:events'
import { concurrency, fixedWindow, leakyBucket, type Store } from '@sluice/core'
import { reservationOf, reserving, type AdapterOptions } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { reservation } from '@sluice/core/reservations'
import { meter } from '@sluice/ai'
import { describe, expect, it, vi } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { STORES, storesOf, type StoreName } from '../../support/stores.ts'
import { app } from './support.ts'

const inFlight = concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] })
const tokens = fixedWindow({
  name: 'tpm',
  limit: 1_000,
  window: '366d',
  per: ['tenant'],
  unit: 'token',
})
const cost = reserving({ token: 100 })
type Handle = (request: Request) => Response | Promise<Response>

/** A handler behind a limit of one call in flight, and the tokens that are left. */
function oneAtATime(
  handle: Handle,
  { store = memory(), ...options }: Partial<AdapterOptions> & { store?: Store } = {},
) {
  const { limiter } = setUp([inFlight, tokens], { store })
  const left = async () => {
    const { policies } = await limiter.peek(ACME, { cost: { token: 0, call: 0 } })
    return policies.map(({ remaining }) => remaining)
  }
  return { limiter, left, ask: app(limiter, { cost, ...options }, handle) }
}

/** An answer that goes on until the test ends it. */
function endless(): { readonly answer: Response; readonly end: () => void } {
  let end: (() => void) | undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('a'))
      end = () => controller.close()
    },
  })
  return { answer: new Response(body), end: () => end?.() }
}

const failing = () => Promise.reject(new Error('no answer'))

/** Answers with a meter that settles the tokens of the answer. */
const metered: Handle = (request) =>
  meter(new Response('four words of text'), {
    settle: ({ output }) => reservationOf(request).settle({ token: output }),
  })

describe.each(Object.keys(STORES) as StoreName[])('a call in flight, with %s', (name) => {
  const make = storesOf(name)

  it('ends with its response, and leaves the estimate to be settled afterwards', async () => {
    const { answer, end } = endless()
    const settle: (() => Promise<unknown>)[] = []
    const { ask, left } = oneAtATime(
      (request) => {
        const call = reservationOf(request)
        settle.push(() => call.settle({ token: 1 }))
        return answer
      },
      { store: make() },
    )
    const first = await ask()
    expect((await ask()).status).toBe(429)
    expect(await left()).toEqual([0, 900])
    end()
    expect(await first.text()).toBe('a')
    expect(await left()).toEqual([1, 900])
    // Such as work that runs after the response.
    expect(await settle[0]?.()).toMatchObject({ applied: true, returned: { token: 99 } })
    expect(await left()).toEqual([1, 999])
  })

  it('ends when the handler throws', async () => {
    const { ask, left } = oneAtATime(failing, { store: make() })
    await expect(ask()).rejects.toThrow('no answer')
    expect(await left()).toEqual([1, 900])
  })

  it.each<[string, () => Response]>([
    ['nothing', () => undefined as never],
    [
      'a body that somebody reads',
      () => {
        const answer = new Response('answer')
        answer.body?.getReader()
        return answer
      },
    ],
  ])('ends when the handler returns %s, which is an error', async (_, handle) => {
    const { ask, left } = oneAtATime(handle, { store: make() })
    await expect(ask()).rejects.toThrow(TypeError)
    expect(await left()).toEqual([1, 900])
  })

  it('does not end another call, however often it ends', async () => {
    const { ask, left, limiter } = oneAtATime(() => new Response(), { store: make() })
    const other = app(limiter, { cost }, () => endless().answer)
    expect((await ask()).status).toBe(200)
    expect((await other()).status).toBe(200)
    expect(await left()).toEqual([0, 800])
  })
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
    await vi.waitFor(async () => expect((await left())[0]).toBe(1))
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

describe('with a waitUntil, a call in flight', () => {
  it('is known to the platform from the beginning, and does not hold the response up', async () => {
    const store = memory()
    const run = store.run.bind(store)
    const gate = new EventTarget()
    vi.spyOn(store, 'run').mockImplementation(async (operation) => {
      await once(gate, 'open')
      return run(operation)
    })
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => void kept.push(promise)
    const handle = () => {
      expect(kept).toHaveLength(1)
      return new Response('answer')
    }
    const { ask, left } = oneAtATime(handle, { store, waitUntil })
    expect(await (await ask()).text()).toBe('answer')
    expect((await left())[0]).toBe(0)
    gate.dispatchEvent(new Event('open'))
    await Promise.all(kept)
    expect((await left())[0]).toBe(1)
  })

  it('ends also if it throws, as an unbound one does, and that is logged', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const error = new TypeError('Illegal invocation')
    const waitUntil = () => {
      throw error
    }
    const { ask, left } = oneAtATime(() => new Response('answer'), { waitUntil })
    await (await ask()).text()
    await vi.waitFor(async () => expect((await left())[0]).toBe(1))
    expect(log).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('waitUntil'), error)
    log.mockRestore()
  })
})

it('a call whose client left during a delay ends, and its estimate stays', async () => {
  const shape = leakyBucket({ name: 'shape', limit: 1, window: '1m', burst: 9, per: 'global' })
  const { limiter } = setUp([inFlight, tokens, shape])
  const handle = vi.fn<() => Response>(() => new Response('answer'))
  const ask = app(limiter, { cost }, handle)
  await (await ask()).text()
  const controller = new AbortController()
  const gone = ask({}, { signal: controller.signal })
  // It waits for its turn, a minute later.
  await vi.waitFor(async () => expect((await ask()).status).toBe(429))
  controller.abort()
  expect((await gone).status).toBe(499)
  expect(handle).toHaveBeenCalledOnce()
  const { policies } = await limiter.peek(ACME, { cost: { token: 0, call: 0 } })
  expect(policies.map(({ name, remaining }) => [name, remaining])).toEqual([
    ['in-flight', 1],
    ['tpm', 800],
    ['shape', 7],
  ])
})
