import { meter, meterStream, type Usage } from '@sluice/ai'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import * as recorded from '../recordings.ts'
import { ledger } from '../support.ts'

const answer = (): Response => new Response(recorded.CHAT_SSE)
const settle = (): void => undefined
const settled = (usages: readonly Usage[]): unknown =>
  usages.map(({ input, output, source, complete }) => ({ input, output, source, complete }))
const NOTHING = { input: 0, output: 0, source: 'provider', complete: true }

const unbound = (): never => {
  throw new TypeError('Illegal invocation')
}

describe('the settlement of a metered answer', () => {
  it.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('the books are closed')
      },
    ],
    ['rejects', () => Promise.reject(new Error('the books are closed')) as never],
  ])('that %s does not affect the answer and is reported to onError', async (_, failing) => {
    const errors: unknown[] = []
    const waited: Promise<unknown>[] = []
    const options = {
      settle: failing,
      onError: (error: unknown) => errors.push(error),
      waitUntil: (promise: Promise<unknown>) => waited.push(promise),
    }
    expect(await meter(answer(), options).text()).toBe(recorded.CHAT_SSE)
    await Promise.all(waited)
    expect(errors).toMatchObject([{ message: 'the books are closed' }])
  })

  it('goes on when waitUntil throws, as an unbound one does', async () => {
    const errors: unknown[] = []
    const heard = vi.fn<(...heard: unknown[]) => void>()
    const onError = (error: unknown): void => void errors.push(error)
    const options = { settle: heard, waitUntil: unbound, onError }
    const passed = meter(answer(), options)
    expect(await passed.text()).toBe(recorded.CHAT_SSE)
    expect(heard).toHaveBeenCalledOnce()
    expect(errors).toHaveLength(1)
  })

  it('is logged when it fails, by default; an onError that throws changes nothing', async () => {
    const spy = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const failing = {
      settle: () => {
        throw new Error('the books are closed')
      },
    }
    expect(await meter(answer(), failing).text()).toBe(recorded.CHAT_SSE)
    expect(spy.mock.calls).toEqual([['Sluice:', expect.any(Error)]])
    spy.mockRestore()
    const deaf = { ...failing, onError: failing.settle }
    expect(await meter(answer(), deaf).text()).toBe(recorded.CHAT_SSE)
  })

  it('does not hold up the answer', async () => {
    const never = { settle: () => new Promise<void>(() => undefined) }
    expect(await meter(answer(), never).text()).toBe(recorded.CHAT_SSE)
  })

  it('is passed to waitUntil from the beginning', async () => {
    const waited: Promise<unknown>[] = []
    const order: string[] = []
    let finish: (() => void) | undefined
    const response = meter(answer(), {
      waitUntil: (promise) => waited.push(promise.then(() => order.push('waited'))),
      settle: () =>
        new Promise<void>((resolve) => {
          finish = () => {
            order.push('settled')
            resolve()
          }
        }),
    })
    expect(waited).toHaveLength(1)
    await response.text()
    finish?.()
    await Promise.all(waited)
    expect(order).toEqual(['settled', 'waited'])
  })

  it('survives a counter that fails: the answer continues and the known usage is settled', async () => {
    const book = ledger()
    const errors: unknown[] = []
    const response = meter(answer(), {
      settle: book.settle,
      onError: (error) => errors.push(error),
      count: () => {
        throw new Error('no table')
      },
    })
    expect(await response.text()).toBe(recorded.CHAT_SSE)
    expect(book.usages).toHaveLength(1)
    expect(errors.length).toBeGreaterThan(0)
  })
})

describe('a response', () => {
  it('keeps its status, its text and its headers', async () => {
    const headers = new Headers([
      ['content-type', 'text/event-stream'],
      ['x-request-id', 'req_1'],
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ])
    const init = { status: 203, statusText: 'Well', headers }
    const response = meter(new Response(recorded.CHAT_SSE, init), { settle: ledger().settle })
    expect([response.status, response.statusText]).toEqual([203, 'Well'])
    expect([...response.headers]).toEqual([...headers])
    expect(await response.text()).toBe(recorded.CHAT_SSE)
  })

  it.each([400, 401, 404, 429, 500, 503, 301])(
    'with status %i is passed on unchanged and charged nothing',
    async (status) => {
      const book = ledger()
      const error = Response.json({ error: { message: 'no', usage: { output: 5 } } }, { status })
      const response = meter(error, { settle: book.settle, inputTokens: 77 })
      expect(response).toBe(error)
      expect(settled(book.usages)).toEqual([NOTHING])
      expect(response.bodyUsed).toBe(false)
    },
  )

  it('that is an error is metered like any other if configured', async () => {
    const book = ledger()
    const init = { status: 529 }
    const response = meter(Response.json(recorded.CHAT_JSON, init), {
      settle: book.settle,
      chargeErrors: true,
    })
    expect(response.status).toBe(529)
    expect(await response.json()).toEqual(recorded.CHAT_JSON)
    expect(book.usages).toMatchObject([{ input: 1_204, output: 310 }])
  })

  it('without a body is charged nothing', () => {
    for (const response of [new Response(null, { status: 204 }), new Response(null)]) {
      const book = ledger()
      expect(meter(response, { settle: book.settle })).toBe(response)
      expect(settled(book.usages)).toEqual([NOTHING])
    }
    const book = ledger()
    expect(meter(Response.error(), { settle: book.settle }).type).toBe('error')
    expect(settled(book.usages)).toEqual([NOTHING])
  })
})

describe('a body that is read already is a mistake of the caller', () => {
  const waited: Promise<unknown>[] = []
  const options = { settle, waitUntil: (promise: Promise<unknown>) => void waited.push(promise) }
  const read = answer()
  const halfRead = answer()
  const locked = answer()
  const stream = answer().body!
  beforeAll(async () => {
    await read.text()
    const reader = halfRead.body!.getReader()
    await reader.read()
    reader.releaseLock()
    locked.body!.getReader()
    stream.getReader()
  })

  mistakesAreNamed([
    ['one that is read', () => meter(read, options), 'meter.response'],
    ['one that is half read', () => meter(halfRead, options), 'meter.response'],
    ['one that is being read', () => meter(locked, options), 'meter.response'],
    ['a stream that is being read', () => meterStream(stream, options), 'meterStream.stream'],
    ['no stream', () => meterStream('text' as never, options), 'meterStream.stream'],
    ['nothing to stream', () => meterStream(null as never, options), 'meterStream.stream'],
    ['no response', () => meter(undefined as never, options), 'meter.response'],
  ])

  it('registers nothing with waitUntil', () => expect(waited).toEqual([]))
})

describe('a mistake in the options of a meter is an error that names the option', () => {
  const of = loosely((options: never) => meter(new Response('x'), options))
  const stream = loosely((options: never) => meterStream(new Response('x').body!, options))
  mistakesAreNamed([
    ['none', () => of(undefined), 'meter'],
    ['no settle', () => of({}), 'meter.settle'],
    ['a settle that is none', () => of({ settle: 5 }), 'meter.settle'],
    ['unknown', () => of({ settle, settleWithin: 1 }), 'meter.settleWithin', 'unknown_option'],
    ['a waitUntil that is none', () => of({ settle, waitUntil: {} }), 'meter.waitUntil'],
    ['an onError that is none', () => of({ settle, onError: 'log' }), 'meter.onError'],
    ['a count that is none', () => of({ settle, count: 4 }), 'meter.count'],
    ['a signal that is none', () => of({ settle, signal: 5 }), 'meter.signal'],
    ['a signal that is none', () => stream({ settle, signal: {} }), 'meterStream.signal'],
    ['half a token', () => of({ settle, inputTokens: 0.5 }), 'meter.inputTokens'],
    ['less than none', () => of({ settle, inputTokens: -1 }), 'meter.inputTokens'],
    [
      'charging errors of a bare stream',
      () => stream({ settle, chargeErrors: true }),
      'meterStream.chargeErrors',
      'unknown_option',
    ],
  ])
})
