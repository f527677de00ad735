import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { createLimiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitedFetch, LIST_PRICES, modelPolicies } from '@sluice/ai'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { AMPLE } from '../limits.ts'
import { interleave } from '../measure/rounds.ts'

const LENGTH = 16_000_000
const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"'

interface Answer {
  readonly type: 'text/event-stream' | 'application/json'
  readonly start: string
  readonly part: string
  /** The bytes of a chunk; without, the answer is one gzip. */
  readonly chunk?: number
}

const line = { type: 'text/event-stream', start: EVENT, part: 'a' } as const
const deep = { type: 'application/json', start: '', part: '[' } as const

/** Answers of 16 MB that a provider might send to do harm. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  'one line, 1 KB a chunk': { ...line, chunk: 1_000 },
  'one line, 16 KB a chunk': { ...line, chunk: 16_384 },
  'one line in a gzip': line,
  'line ends, 16 KB a chunk': { ...line, start: '', part: '\n', chunk: 16_384 },
  'JSON of brackets, 16 KB a chunk': { ...deep, chunk: 16_384 },
  'JSON of brackets in a gzip': deep,
  'empty objects, 16 KB a chunk': { ...deep, part: '{}', chunk: 16_384 },
}

/** The CPU time and the memory of a model call with a costly answer, beside passing it on. */
export const answersScenario: Scenario = {
  name: 'answers',
  title: 'CPU and memory of the costliest answers to limitedFetch, beside passing them on',

  async run(bench) {
    const rows: Row[] = []
    for (const [title, answer] of Object.entries(ANSWERS)) {
      rows.push(...(await measure(bench, title, answer)))
    }
    return rows
  },
}

async function measure(bench: Bench, title: string, answer: Answer): Promise<Row[]> {
  const respond = responder(answer)
  const policies = modelPolicies({ per: ['tenant'], rpm: AMPLE, tpm: 1_000_000_000 })
  const limited = limitedFetch(createLimiter({ store: memory(), policies }), {
    subject: { tenant: 'acme' },
    prices: LIST_PRICES,
    fetch: async () => respond(),
  })
  const body = JSON.stringify({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'Why?' }],
    stream: answer.type === 'text/event-stream',
  })
  const call = () => limited('https://api.openai.com/v1/chat/completions', { method: 'POST', body })
  const sides = { limited: call, passed: async () => respond() }
  const cpu = await interleave(bench, {
    limited: () => cpuOf(sides.limited),
    passed: () => cpuOf(sides.passed),
  })
  const memories = await interleave(bench, {
    limited: () => memoryOf(sides.limited),
    passed: () => memoryOf(sides.passed),
  })
  return [
    {
      title: `${title}: CPU`,
      unit: 'ms',
      ours: { values: cpu.limited },
      others: { 'passing it on': { values: cpu.passed } },
    },
    {
      title: `${title}: memory`,
      unit: 'bytes',
      ours: { values: memories.limited },
      others: { 'passing it on': { values: memories.passed } },
    },
  ]
}

async function cpuOf(send: () => Promise<Response>): Promise<number> {
  const response = await send()
  const start = process.cpuUsage()
  const reader = response.body?.getReader()
  while (!(await reader?.read())?.done);
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}

/** The least growth that is told: what garbage is left of a smaller one is chance. */
const NOISE_BYTES = 65_536

/** Returns the most bytes that are in use while an answer passes, after collecting garbage at some twenty places. */
async function memoryOf(send: () => Promise<Response>): Promise<number> {
  const before = bytesInUse()
  const response = await send()
  let most = 0
  let bytes = 0
  let next = 0
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    bytes += chunk.length
    if (bytes < next) continue
    most = Math.max(most, bytesInUse() - before)
    next = bytes + LENGTH / 20
  }
  return Math.max(most, NOISE_BYTES)
}

function bytesInUse(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function responder({ type, start, part, chunk }: Answer): () => Response {
  const headers = { 'content-type': type }
  const text = new TextEncoder().encode(start + part.repeat(LENGTH / part.length))
  const packed = chunk === undefined ? gzipSync(text) : text
  return () => {
    const bytes = new Blob([packed]).stream()
    if (chunk === undefined) {
      return new Response(bytes.pipeThrough(new DecompressionStream('gzip')), { headers })
    }
    let at = 0
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (at >= text.length) controller.close()
          else controller.enqueue(text.slice(at, (at += chunk)))
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { headers })
  }
}
