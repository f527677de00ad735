import { meterStream } from '@sluice/ai'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import * as recorded from '../recordings.ts'
import { bytesOf, ledger, sourceOf } from '../support.ts'

const chunksOf = (events: readonly string[]): Uint8Array<ArrayBuffer>[] => events.map(bytesOf)
const chatEvents = recorded.CHAT_SSE.split(/(?<=\n\n)/)
/** Reads until `chunks` chunks have come, or the end. */
async function readSome(stream: ReadableStream<Uint8Array>, chunks: number) {
  const reader = stream.getReader()
  for (let index = 0; index < chunks; index += 1) {
    if ((await reader.read()).done) break
  }
  return reader
}

describe('a signal', () => {
  it('ends the answer: settles, cancels the source and fails the reader', async () => {
    const source = sourceOf(chunksOf(chatEvents.slice(0, 5)), 'open')
    const book = ledger()
    const controller = new AbortController()
    const { signal } = controller
    const stream = meterStream(source.stream, { settle: book.settle, signal })
    const reader = await readSome(stream, 5)
    const next = reader.read()
    const reason = new Error('enough')
    controller.abort(reason)
    expect(book.usages).toMatchObject([{ complete: false, source: 'counted' }])
    await expect(next).rejects.toBe(reason)
    expect(source.cancelled()).toBe(reason)
  })

  it('is accepted from another realm, as in an edge sandbox', async () => {
    const foreign = runInNewContext('new AbortController()', {
      AbortController: class {
        readonly signal = {
          aborted: false,
          addEventListener: () => {},
          removeEventListener: () => {},
        }
      },
    }) as AbortController
    const book = ledger()
    const options = { settle: book.settle, signal: foreign.signal }
    await new Response(meterStream(sourceOf(chunksOf(chatEvents)).stream, options)).text()
    expect(book.usages).toHaveLength(1)
  })

  it('settles before anything is read if it has aborted already', async () => {
    const source = sourceOf(chunksOf(chatEvents))
    const book = ledger()
    const signal = AbortSignal.abort('too late')
    const stream = meterStream(source.stream, { settle: book.settle, signal })
    await expect(stream.getReader().read()).rejects.toBe('too late')
    expect([book.usages.length, source.pulls()]).toEqual([1, 0])
  })

  it('has no listener left once the answer is over', async () => {
    const { signal } = new AbortController()
    const remove = vi.spyOn(signal, 'removeEventListener')
    const book = ledger()
    const source = sourceOf(chunksOf(chatEvents))
    await new Response(meterStream(source.stream, { settle: book.settle, signal })).text()
    expect(remove).toHaveBeenCalledOnce()
  })
})
