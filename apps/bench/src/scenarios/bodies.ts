import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLimiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { LIST_PRICES, modelHandler, modelPolicies } from '@sluice/ai'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { AMPLE } from '../limits.ts'
import { interleave } from '../measure/rounds.ts'

/** The most strings that `modelHandler` reads, and the most other values. */
const STRINGS = 149_900
const LISTS = 199_900

const message = (content: unknown): object => ({ role: 'user', content })
const chat = (content: unknown, more: object = {}): string =>
  JSON.stringify({ model: 'gpt-4o', messages: [message(content)], ...more })

/** Bodies of at most 4 MB, each at a bound of what is accepted. */
const BODIES: Readonly<Record<string, string>> = {
  'one text of 4 MB': chat('Why is the sky blue? '.repeat(190_000)),
  '200,000 lists': chat(Array.from({ length: LISTS }, () => [])),
  '150,000 fields, each of an object': chat(
    Array.from({ length: STRINGS }, (_, index) => ({ [index.toString(36)]: 0 })),
  ),
  '150,000 fields of one schema': chat('Why?', {
    tools: [
      {
        type: 'function',
        function: Object.fromEntries(
          Array.from({ length: STRINGS }, (_, index) => [index.toString(36), 0]),
        ),
      },
    ],
  }),
}

/** The CPU time and the heap of a model call with a large body, beside those of `JSON.parse`. */
export const bodiesScenario: Scenario = {
  name: 'bodies',
  title: 'CPU and heap of the costliest bodies that modelHandler accepts, beside JSON.parse',

  async run(bench) {
    const rows: Row[] = []
    for (const [title, json] of Object.entries(BODIES))
      rows.push(...(await measure(bench, title, json)))
    return rows
  },
}

async function measure(bench: Bench, title: string, json: string): Promise<Row[]> {
  const heap = { handler: 0, parse: 0 }
  const heaps = { handler: [] as number[], parse: [] as number[] }
  const policies = modelPolicies({ per: ['tenant'], rpm: AMPLE, tpm: 1_000_000_000 })
  const handle = modelHandler(
    createLimiter({ store: memory(), policies }),
    { subject: () => ({ tenant: 'acme' }), prices: LIST_PRICES, api: 'openai-chat' },
    () => {
      heap.handler = process.memoryUsage().heapUsed
      return new Response(null, { status: 204 })
    },
  )
  const bytes = new TextEncoder().encode(json)
  const request = () => new Request('https://app.example', { method: 'POST', body: bytes })
  const sides = {
    handler: async () => {
      const response = await handle(request())
      if (response.status !== 204) throw new Error(`${title}: ${response.status}`)
    },
    parse: async () => {
      const body: unknown = JSON.parse(await request().text())
      heap.parse = process.memoryUsage().heapUsed
      return body
    },
  }
  const sample = (name: keyof typeof sides) => async () => {
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    const cpu = process.cpuUsage()
    await sides[name]()
    const { user, system } = process.cpuUsage(cpu)
    heaps[name].push(heap[name] - before)
    return (user + system) / 1_000
  }
  const cpu = await interleave(bench, { handler: sample('handler'), parse: sample('parse') })
  return [
    {
      title: `${title}: CPU`,
      unit: 'ms',
      ours: { values: cpu.handler },
      others: { 'JSON.parse': { values: cpu.parse } },
    },
    {
      title: `${title}: heap`,
      unit: 'bytes',
      ours: { values: heaps.handler.slice(-bench.rounds) },
      others: { 'JSON.parse': { values: heaps.parse.slice(-bench.rounds) } },
    },
  ]
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
