import { estimateTokens, meter, meterStream } from '@sluice/ai'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as recorded from '../recordings.ts'
import { bytesOf, ledger, sourceOf } from '../support.ts'

const chunksOf = (events: readonly string[]): Uint8Array<ArrayBuffer>[] => events.map(bytesOf)
const chatEvents = recorded.CHAT_SSE.split(/(?<=\n\n)/)
const said = estimateTokens(recorded.SAID)

const chunk = (content: string, completion_tokens: number): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { content } }], usage: { prompt_tokens: 9, completion_tokens } })}\n\n`

/** Reads until `chunks` chunks have come, or the end. */
async function readSome(stream: ReadableStream<Uint8Array>, chunks: number) {
  const reader = stream.getReader()
  for (let index = 0; index < chunks; index += 1) {
    if ((await reader.read()).done) break
  }
  return reader
}

describe('a client that goes away', () => {
  it('cancels the source with its reason and settles the text so far at once', async () => {
    const source = sourceOf(chunksOf(chatEvents.slice(0, -2)), 'open')
    const book = ledger()
    const stream = meterStream(source.stream, { settle: book.settle, inputTokens: 77 })
    const reader = await readSome(stream, chatEvents.length - 2)
    const reason = new Error('gone')
    await reader.cancel(reason)
    expect(source.cancelled()).toBe(reason)
    expect(book.usages).toEqual([
      {
        model: 'gpt-4o-2024-08-06',
        input: 77,
        cachedInput: 0,
        cacheWrite: 0,
        longCacheWrite: 0,
        output: said,
        source: 'counted',
        complete: false,
      },
    ])
  })

  it('is charged the input that Anthropic reported in its first event', async () => {
    const source = sourceOf(chunksOf(recorded.MESSAGES_EVENTS), 'open')
    const book = ledger()
    const stream = meterStream(source.stream, { settle: book.settle, inputTokens: 77 })
    await (await readSome(stream, recorded.MESSAGES_EVENTS.length)).cancel()
    const text = `Why is it blue at all?${recorded.SAID}`
    expect(book.usages).toMatchObject([
      { input: 1_204, cachedInput: 1_024, source: 'counted', complete: false },
    ])
    expect(book.usages[0]?.output).toBe(Math.ceil(estimateTokens(text) * 1.5))
  })

  it('is charged the known input when it leaves before the first byte', async () => {
    const source = sourceOf([], 'open')
    const book = ledger()
    const stream = meterStream(source.stream, { settle: book.settle, inputTokens: 77, model: 'm' })
    await stream.cancel('changed my mind')
    expect(source.cancelled()).toBe('changed my mind')
    expect(book.usages).toMatchObject([{ model: 'm', input: 77, output: 0, complete: false }])
  })

  it('changes nothing once the usage has arrived', async () => {
    for (const text of [recorded.CHAT_SSE, recorded.responsesSse(), recorded.MESSAGES_SSE]) {
      const source = sourceOf([bytesOf(text)], 'open')
      const book = ledger()
      const stream = meterStream(source.stream, { settle: book.settle })
      const reader = await readSome(stream, 1)
      // Settled by the last event, while the source is still open.
      expect(book.usages).toMatchObject([{ output: 310, source: 'provider', complete: true }])
      await reader.cancel()
      expect(book.usages).toHaveLength(1)
    }
  })

  it('keeps a large usage reported mid-stream, and is charged at least the text that passed', async () => {
    for (const [tokens, output] of [
      [500, 500],
      [1, said],
    ] as const) {
      const source = sourceOf([bytesOf(chunk(recorded.SAID, tokens))], 'open')
      const book = ledger()
      const reader = await readSome(meterStream(source.stream, { settle: book.settle }), 1)
      await reader.cancel()
      expect(book.usages).toMatchObject([{ input: 9, output, complete: false }])
    }
  })

  it('gets the error of a source that could not be cancelled', async () => {
    const failure = new Error('no')
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      cancel: () => Promise.reject(failure),
    })
    const book = ledger()
    const metered = meterStream(stream, { settle: book.settle })
    await expect(metered.cancel()).rejects.toBe(failure)
    expect(book.usages).toHaveLength(1)
  })
})

describe('a source that breaks', () => {
  it('fails the reader with the same error and settles the text so far', async () => {
    const failure = new TypeError('terminated')
    for (const events of [chatEvents.slice(0, 5), recorded.RESPONSES_DELTAS.slice(0, 8)]) {
      const source = sourceOf(chunksOf(events), failure)
      const book = ledger()
      const stream = meterStream(source.stream, { settle: book.settle })
      const reader = await readSome(stream, events.length)
      await expect(reader.read()).rejects.toBe(failure)
      expect(book.usages).toMatchObject([{ source: 'counted', complete: false }])
      expect(book.usages[0]?.output).toBeGreaterThan(0)
    }
  })

  it('settles only the input when it breaks before its first byte', async () => {
    const book = ledger()
    const source = sourceOf([], new Error('reset'))
    const response = meter(new Response(source.stream), { settle: book.settle, inputTokens: 77 })
    await expect(response.text()).rejects.toThrow('reset')
    expect(book.usages).toMatchObject([{ input: 77, output: 0, complete: false }])
  })

  it('settles the text so far when it breaks in the middle of JSON', async () => {
    const json = JSON.stringify(recorded.CHAT_JSON)
    const book = ledger()
    const source = sourceOf([bytesOf(json.slice(0, 250))], new Error('reset'))
    const stream = meterStream(source.stream, { settle: book.settle })
    await expect(new Response(stream).text()).rejects.toThrow('reset')
    expect(book.usages).toMatchObject([{ source: 'counted', complete: false }])
    expect(book.usages[0]?.output).toBeGreaterThanOrEqual(said)
  })

  it('is distinguished from a source that closes too early, which is incomplete as well', async () => {
    const text = chatEvents.slice(0, 6).join('')
    const book = ledger()
    await new Response(
      meterStream(sourceOf([bytesOf(text)]).stream, { settle: book.settle }),
    ).text()
    expect(book.usages).toMatchObject([{ source: 'counted', complete: false }])
  })

  it('is incomplete after an error event of the provider', async () => {
    const error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'
    const text = recorded.MESSAGES_EVENTS.join('') + error
    const book = ledger()
    await new Response(
      meterStream(sourceOf([bytesOf(text)]).stream, { settle: book.settle }),
    ).text()
    expect(book.usages).toMatchObject([{ input: 1_204, source: 'counted', complete: false }])
  })
})

describe('an answer, wherever it ends,', () => {
  const endings = fc.constantFrom<'closed' | 'error' | 'cancel' | 'signal'>(
    'closed',
    'error',
    'cancel',
    'signal',
  )
  const bodies = [recorded.CHAT_SSE, recorded.responsesSse(), recorded.MESSAGES_SSE]

  it('settles exactly once, with at least the text that has passed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(2),
        fc.nat(6_000),
        fc.integer({ min: 1, max: 400 }),
        endings,
        async (which, length, size, ending) => {
          const bytes = bytesOf(bodies[which] ?? '').slice(0, length)
          const count = Math.ceil(bytes.length / size)
          const chunks = Array.from({ length: count }, (_, index) =>
            bytes.slice(index * size, (index + 1) * size),
          )
          const end = ending === 'error' ? new Error('reset') : 'open'
          const source = sourceOf(chunks, ending === 'closed' ? 'closed' : end)
          const book = ledger()
          const controller = new AbortController()
          const { signal } = controller
          const stream = meterStream(source.stream, { settle: book.settle, signal })
          const reader = await readSome(stream, count)
          if (ending === 'cancel') await reader.cancel()
          else if (ending === 'signal') {
            controller.abort()
            await reader.closed.catch(() => undefined)
          } else await reader.read().catch(() => undefined)
          expect(book.usages).toHaveLength(1)
          const deltas = new TextDecoder()
            .decode(bytes)
            .split('\n\n')
            .slice(0, -1)
            .filter((event) => !event.includes('.done"'))
            .flatMap(
              (event) => /"(?:content|delta|text|thinking)":"([^"]+)"/.exec(event)?.[1] ?? [],
            )
          const passed = deltas.filter((text) => recorded.SAID.includes(text)).join('')
          expect(book.usages[0]?.output).toBeGreaterThanOrEqual(estimateTokens(passed))
        },
      ),
      { numRuns: 300 },
    )
  })
})
