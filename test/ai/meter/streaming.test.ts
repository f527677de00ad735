import { meter, meterStream } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { bytesInUse } from '../../support/heap.ts'
import * as recorded from '../recordings.ts'
import { bytesOf, ledger, sourceOf } from '../support.ts'

const EVENT = bytesOf(
  `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { content: 'word '.repeat(8) } }] })}\n\n`,
)
const TEN_MEGABYTES = Math.ceil(10_000_000 / EVENT.length)

/** A source that never ends and tells how far it has been read. */
function endless(chunk: Uint8Array<ArrayBuffer>) {
  let given = 0
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull(controller) {
        given += 1
        controller.enqueue(chunk)
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, given: () => given }
}

/** Lets everything go on that can without anybody reading. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

describe('a metered stream', () => {
  it('reads nothing until it is read, then one chunk at a time', async () => {
    const source = endless(EVENT)
    const reader = meterStream(source.stream, ledgerOptions()).getReader()
    await idle()
    expect(source.given()).toBe(0)
    for (let read = 1; read <= 50; read += 1) {
      await reader.read()
      await idle()
      expect(source.given()).toBe(read)
    }
    await reader.cancel()
  })

  it('reads no more than two chunks ahead of a slow reader behind a Response', async () => {
    const source = endless(EVENT)
    const response = meter(new Response(source.stream), ledgerOptions())
    const reader = response.body?.getReader()
    for (let read = 1; read <= 20; read += 1) {
      await reader?.read()
      await idle()
      expect(source.given() - read).toBeLessThanOrEqual(2)
    }
    await reader?.cancel()
  })

  it('passes on each chunk at once, as the same object', async () => {
    const chunks = [EVENT, bytesOf('data: half an ev'), new Uint8Array(0), Uint8Array.of(0xf0)]
    const reader = meterStream(sourceOf(chunks, 'open').stream, ledgerOptions()).getReader()
    for (const chunk of chunks) expect((await reader.read()).value).toBe(chunk)
    await reader.cancel()
  })

  it('passes on the first byte before the source sends another', async () => {
    const source = sourceOf([Uint8Array.of(0x64)], 'open')
    const response = meter(new Response(source.stream), ledgerOptions())
    const reader = response.body?.getReader()
    expect((await reader?.read())?.value).toEqual(Uint8Array.of(0x64))
    await reader?.cancel()
  })

  it('has the headers of its source but those of a packed body, which fetch has unpacked', async () => {
    const headers = { 'content-encoding': 'gzip', 'content-length': '7', 'x-request-id': 'r1' }
    const source = new Response(EVENT, { status: 203, statusText: 'Passed on', headers })
    const { status, statusText, headers: passed } = meter(source, ledgerOptions())
    expect([status, statusText]).toEqual([203, 'Passed on'])
    expect(Object.fromEntries(passed)).toEqual({ 'x-request-id': 'r1' })
  })

  it('passes on ten megabytes unchanged and keeps none of them', async () => {
    let given = 0
    let taken = 0
    let ahead = 0
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull(controller) {
          if (given === TEN_MEGABYTES) {
            controller.close()
            return
          }
          given += 1
          ahead = Math.max(ahead, given - taken)
          controller.enqueue(EVENT)
        },
      },
      { highWaterMark: 0 },
    )
    const book = ledger()
    let bytes = 0
    let same = true
    for await (const chunk of meterStream(stream, { settle: book.settle })) {
      taken += 1
      bytes += chunk.length
      same &&= Buffer.compare(chunk, EVENT) === 0
      if (taken % 10_000 === 0) await idle()
    }
    expect([bytes, same]).toEqual([TEN_MEGABYTES * EVENT.length, true])
    expect(ahead).toBeLessThanOrEqual(1)
    // Eight words and their blanks, each time.
    expect(book.usages).toMatchObject([{ source: 'counted', complete: false }])
    expect(book.usages[0]?.output).toBeGreaterThanOrEqual(TEN_MEGABYTES * 8)
  })

  it('keeps little of a line or of JSON that does not end', async () => {
    const before = bytesInUse()
    for (const beginning of [
      'data: {"choices":[{"delta":{"content":"',
      '{"choices":[{"a":"',
      '::',
    ]) {
      const source = endless(bytesOf('x'.repeat(1_000_000)))
      const metered = meterStream(withStart(beginning, source.stream), ledgerOptions())
      const reader = metered.getReader()
      for (let read = 0; read < 20; read += 1) await reader.read()
      // Of the 20 MB that have passed.
      expect(bytesInUse() - before).toBeLessThan(3_000_000)
      await reader.cancel()
    }
  })
})

describe('an event that is too long to keep', () => {
  const long = 'The sky is blue. '.repeat(20_000)

  it('has its usage read, and no text in it is mistaken for a usage', async () => {
    const trap = '","usage":{"output_tokens":0},"model":"none","x":"'
    const output = [{ type: 'message', content: [{ type: 'output_text', text: long + trap }] }]
    const usages = await settledOf(recorded.responsesSse('completed', { output }))
    expect(usages).toMatchObject([
      { model: 'gpt-5.6-terra', input: 1_204, output: 310, source: 'provider', complete: true },
    ])
  })

  it('is counted if it is a delta', async () => {
    const delta = { choices: [{ index: 0, delta: { content: long } }] }
    const usages = await settledOf(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`)
    expect(usages).toMatchObject([{ source: 'counted', complete: false }])
    expect(usages[0]?.output).toBeGreaterThanOrEqual(20_000 * 5)
    const anthropic = {
      type: 'content_block_delta',
      delta: { type: 'text_delta', text: long },
    }
    const [usage] = await settledOf(`data: ${JSON.stringify(anthropic)}\n\n`)
    expect(usage?.output).toBeGreaterThanOrEqual(20_000 * 5)
  })

  it('is not counted if it repeats earlier text or the request, or is sound', async () => {
    const event = { type: 'response.output_text.done', text: long }
    const created = { type: 'response.created', response: { instructions: long, model: 'm' } }
    const sound = { type: 'response.audio.delta', delta: 'UklGR'.repeat(20_000) }
    const text = [event, created, sound].map((data) => `data: ${JSON.stringify(data)}\n\n`).join('')
    expect(await settledOf(text)).toMatchObject([{ model: 'm', output: 0, complete: false }])
  })
})

describe('an Anthropic event of any length', () => {
  it.each([1_000, 90_000])(
    'is not counted if it is the result of a tool: %i characters',
    async (length) => {
      const block = {
        type: 'web_search_tool_result',
        content: [{ type: 'web_search_result', encrypted_content: 'Ab3'.repeat(length / 3) }],
      }
      const start = { type: 'content_block_start', index: 1, content_block: block }
      const [usage] = await settledOf(
        `${recorded.MESSAGES_EVENTS[0]}data: ${JSON.stringify(start)}\n\n`,
      )
      expect(usage).toMatchObject({ input: 1_204, output: 1, complete: false })
    },
  )
})

describe('JSON of any length', () => {
  it('has its usage read behind ten megabytes of any text', async () => {
    const input = {
      usage: { output_tokens: 5 },
      text: '"usage":{"output_tokens":0}'.repeat(400_000),
    }
    const body = { content: [{ type: 'tool_use', input }], ...recorded.MESSAGES_JSON }
    const text = JSON.stringify({ ...body, content: [{ type: 'tool_use', input }] })
    expect(text.length).toBeGreaterThan(10_000_000)
    expect(await settledOf(text)).toMatchObject([
      { model: 'claude-opus-4-5-20251101', input: 1_204, output: 310, complete: true },
    ])
  })

  it('is counted from its text if it is cut off', async () => {
    const text = JSON.stringify(recorded.MESSAGES_JSON).slice(0, -10)
    expect(await settledOf(text)).toMatchObject([{ source: 'counted', complete: false }])
  })

  it.each([
    '{"usage":{"completion_tokens":5}}}}}}',
    '}{',
    '[[[',
    '{"a":}',
    '{"\\',
    '{"usage":"x"}',
    '{"usage":{5},"model":"\\x","choices":[]}',
  ])('does no harm if it is malformed: %s', async (text) => {
    expect(await settledOf(text)).toMatchObject([{ source: 'counted' }])
  })
})

function ledgerOptions() {
  return { settle: ledger().settle }
}

async function settledOf(text: string) {
  const book = ledger()
  const bytes = bytesOf(text)
  const chunks = Array.from({ length: Math.ceil(bytes.length / 10_000) }, (_, index) =>
    bytes.slice(index * 10_000, (index + 1) * 10_000),
  )
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const stream = meterStream(sourceOf(chunks).stream, { settle: book.settle, onError })
  // Compared as a whole: an assertion on each of ten million bytes takes its time.
  expect(Buffer.compare(await new Response(stream).bytes(), bytes)).toBe(0)
  expect(errors).toEqual([])
  return book.usages
}

function withStart(start: string, rest: ReadableStream<Uint8Array<ArrayBuffer>>) {
  const reader = rest.getReader()
  let first: Uint8Array<ArrayBuffer> | undefined = bytesOf(start)
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      controller.enqueue(first ?? (await reader.read()).value ?? new Uint8Array(0))
      first = undefined
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
