import { estimateTokens, meterStream, type Usage } from '@sluice/ai'
import { bedrock } from '@sluice/ai/formats'
import { expect, it } from 'vitest'
import { bytesInUse } from '../../support/heap.ts'
import { BEDROCK } from '../samples/formats/bedrock.ts'
import { event, exception, message, stream } from '../samples/formats/event-stream.ts'
import { TEXT, TEXTS } from '../samples/formats/sample.ts'
import { ledger, sourceOf } from '../support.ts'

const usage = { inputTokens: 40, outputTokens: 310, totalTokens: 350 }
const DELTAS = TEXTS.map((text) => event('contentBlockDelta', { delta: { text } }))
const METADATA = event('metadata', { usage })
const CONVERSE = stream(...DELTAS, METADATA)

async function usageOf(...pieces: readonly Uint8Array<ArrayBuffer>[]): Promise<Usage> {
  const book = ledger()
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const options = { settle: book.settle, formats: [bedrock], onError }
  const passed = await new Response(meterStream(sourceOf(pieces).stream, options)).bytes()
  expect(Buffer.compare(passed, Buffer.concat(pieces))).toBe(0)
  expect(errors).toEqual([])
  return book.settled
}

const TOLD = { input: 40, output: 310, source: 'provider', complete: true }

it('a stream that is cut off is not complete, wherever that is', async () => {
  expect(await usageOf(CONVERSE)).toMatchObject(TOLD)
  for (let end = 1; end < CONVERSE.length; end += 1) {
    expect(await usageOf(CONVERSE.slice(0, end))).toMatchObject({ complete: false })
  }
})

const CLAUDE = BEDROCK.stream.find((sample) => sample.usage.model !== undefined)
  ?.body as Uint8Array<ArrayBuffer>

it('a stream that is cut off in a message after its usage is not complete', async () => {
  expect(await usageOf(CLAUDE)).toMatchObject({ output: 310, complete: true })
  for (const missing of [1, 4, 5, 50, 300]) {
    const cut = await usageOf(CLAUDE.slice(0, -missing))
    expect(cut).toMatchObject({ complete: false })
    expect(cut.output).toBeGreaterThanOrEqual(310)
  }
})

it('a damaged stream is not complete, whichever byte it is', async () => {
  for (const bytes of [CONVERSE, CLAUDE]) {
    for (let at = 0; at < bytes.length; at += 1) {
      const damaged = bytes.slice()
      damaged[at] = (damaged[at] as number) ^ 32
      expect(await usageOf(damaged)).toMatchObject({ complete: false })
    }
  }
})

it('what follows a damaged message is counted as it is', async () => {
  const damaged = Buffer.from(METADATA)
  damaged[40] = (damaged[40] as number) ^ 1
  const text = Buffer.from(TEXT.repeat(50))
  const found = await usageOf(stream(damaged, text))
  expect(found.complete).toBe(false)
  expect(found.output).toBeGreaterThanOrEqual(estimateTokens(TEXT.repeat(50)))
})

it('a stream that breaks off with an exception is counted', async () => {
  const broken = exception('throttlingException', { message: 'Too many requests. '.repeat(50) })
  const found = await usageOf(stream(...DELTAS, broken))
  expect(found).toMatchObject({ output: estimateTokens(TEXT), complete: false })
})

it('headers of every type are read over', async () => {
  const values = [[0], [1], [2, 9], [3, 9, 9], [4, 9, 9, 9, 9], [5, ...Array<number>(8).fill(9)]]
  const others = [
    [6, 0, 2, 9, 9],
    [8, ...Array<number>(8).fill(9)],
    [9, ...Array<number>(16).fill(9)],
  ]
  const name = Buffer.from(':event-type')
  const type = Buffer.from('metadata')
  const headers = Buffer.concat([
    ...[...values, ...others].map((value) => Buffer.from([1, 0x61, ...value])),
    Buffer.from([name.length]),
    name,
    Buffer.from([7, 0, type.length]),
    type,
  ])
  const found = await usageOf(stream(message(JSON.stringify({ usage }), headers)))
  expect(found).toMatchObject(TOLD)
})

it('a payload without headers, or headers without a payload, are read over', async () => {
  const odd = [message('{}', {}), message('', {}), message('', { ':event-type': 'messageStop' })]
  expect(await usageOf(stream(...odd, METADATA))).toMatchObject(TOLD)
})

it('a chunk whose bytes are no base64 is counted', async () => {
  const chunks = ['not base64, %%%%', '====', TEXT.repeat(20)].map((bytes) =>
    event('chunk', { bytes }),
  )
  const found = await usageOf(stream(...chunks))
  expect(found.complete).toBe(false)
  expect(found.output).toBeGreaterThanOrEqual(estimateTokens(TEXT.repeat(20)))
})

it('no memory is taken by what a length says, nor kept of a long payload', async () => {
  const lengths: readonly (readonly [number, number])[] = [
    [0xffff_ffff, 0],
    [0xffff_ffff, 0xffff_fff0],
    [0x0100_0000, 0x00ff_fff0],
    [16, 1],
    [0, 0],
    [0x00ff_ffff, 0],
  ]
  const piece = new Uint8Array(1_000_000).fill(0x61)
  for (const [total, headers] of lengths) {
    const before = bytesInUse()
    const prelude = message('', {}, { total, headers }).subarray(0, 12)
    const source = sourceOf(
      [stream(...DELTAS, prelude), ...Array.from({ length: 16 }, () => piece)],
      'open',
    )
    const book = ledger()
    const reader = meterStream(source.stream, {
      settle: book.settle,
      formats: [bedrock],
    }).getReader()
    for (let read = 0; read < 17; read += 1) await reader.read()
    // Of the 16 MB that have passed, and the 4 GB that were announced.
    expect(bytesInUse() - before).toBeLessThan(3_000_000)
    await reader.cancel()
    expect(book.usages).toMatchObject([{ complete: false }])
  }
})
