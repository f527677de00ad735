// What metering a stream costs in CPU time beside a TransformStream that does nothing, in one run. The
// absolute times are this machine's; the ratios are what to look at.
import { meterStream } from '@sluice/core/llm'

const MEGABYTES = 10
const ROUNDS = 11

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

const WAYS: Readonly<Record<string, (stream: Bytes) => ReadableStream<Uint8Array>>> = {
  'meter       ': (stream) => meterStream(stream, { settle: () => undefined }),
  'pass through': (stream) => stream.pipeThrough(new TransformStream()),
  'no stream   ': (stream) => stream,
}

await compare('an event a chunk', event)
await compare('some 16 KB a chunk', repeated(event, Math.round(16_000 / event.length)))

/** Prints the median CPU milliseconds per megabyte of each way, taken in turns. */
async function compare(title: string, chunk: Uint8Array<ArrayBuffer>): Promise<void> {
  const times = new Map(Object.keys(WAYS).map((name) => [name, [] as number[]]))
  for (let round = -2; round < ROUNDS; round += 1) {
    for (const [name, way] of Object.entries(WAYS)) {
      const time = await cpuOf(way(source(chunk)))
      // The first rounds are the compiler's.
      if (round >= 0) times.get(name)?.push(time)
    }
  }
  const [bare = 0] = [...times.values()].slice(-1).map(median)
  console.log(`${MEGABYTES} MB of server-sent events, ${title}: CPU milliseconds per megabyte`)
  for (const [name, all] of times) {
    const own = Math.max(0, median(all) - bare)
    console.log(`  ${name}  ${median(all).toFixed(2)}, of which its own ${own.toFixed(2)}`)
  }
  const ratios = (times.get('meter       ') ?? []).map(
    (time, index) => time / (times.get('pass through')?.[index] ?? Number.NaN),
  )
  console.log(`  ratio of meter to pass through  ${median(ratios).toFixed(1)}`)
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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
