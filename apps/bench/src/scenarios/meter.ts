import { meterStream } from '@sluice/ai'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { interleave, type Sample } from '../measure/rounds.ts'

const MEGABYTES = 10

const event = new TextEncoder().encode(
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_780_000_000,
    model: 'gpt-4o-2024-08-06',
    choices: [{ index: 0, delta: { content: ' word' }, logprobs: null, finish_reason: null }],
    usage: null,
  })}\n\n`,
)

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>

/** The CPU time of metering a stream, beside a `TransformStream` that does nothing. */
export const meterScenario: Scenario = {
  name: 'meter',
  title: 'milliseconds of CPU per megabyte of metered server-sent events',

  async run(bench) {
    return [
      await measure(bench, 'an event a chunk', event),
      await measure(
        bench,
        'some 16 KB a chunk',
        repeated(event, Math.round(16_000 / event.length)),
      ),
    ]
  },
}

async function measure(bench: Bench, title: string, chunk: Uint8Array<ArrayBuffer>): Promise<Row> {
  const through =
    (way: (stream: Bytes) => ReadableStream<Uint8Array>): Sample =>
    () =>
      cpuOf(way(source(chunk)))
  const cpu = await interleave(bench, {
    none: through((stream) => stream),
    idle: through((stream) => stream.pipeThrough(new TransformStream())),
    meter: through((stream) => meterStream(stream, { settle: () => undefined })),
  })
  // The source and its reader do not count.
  const withoutSource = (values: readonly number[]): number[] =>
    values.map((value, round) => Math.max(0, value - (cpu.none[round] ?? Number.NaN)))
  return {
    title,
    unit: 'ms/MB',
    ours: { values: withoutSource(cpu.meter) },
    others: { 'an idle TransformStream': { values: withoutSource(cpu.idle) } },
  }
}

async function cpuOf(stream: ReadableStream<Uint8Array>): Promise<number> {
  const before = process.cpuUsage()
  const reader = stream.getReader()
  while (!(await reader.read()).done);
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / MEGABYTES
}

function source(chunk: Uint8Array<ArrayBuffer>): Bytes {
  let left = Math.ceil((MEGABYTES * 1_000_000) / chunk.length)
  return new ReadableStream(
    {
      pull(controller) {
        if (left === 0) controller.close()
        else controller.enqueue(chunk)
        left -= 1
      },
    },
    { highWaterMark: 0 },
  )
}

function repeated(bytes: Uint8Array, times: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(bytes.length * times)
  for (let index = 0; index < times; index += 1) all.set(bytes, index * bytes.length)
  return all
}
