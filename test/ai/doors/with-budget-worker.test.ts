/* The lines of the README in workerd, over Durable Objects, before a stand-in of OpenAI's API. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { usd } from '@sluice/ai'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { addressOf } from '../../e2e/support/ports.ts'
import { PATIENTLY } from '../../support/patience.ts'

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const [, lines = ''] = /```ts\n(\/\/ assistant\.ts\n[^]*?)```/.exec(readme) ?? []

/** The lines with another store, a smaller budget and a model that does not think, in a Worker. */
const WORKER = `
${lines
  .replace(
    "import { file } from '@sluice/core/file'",
    "import { env, waitUntil } from 'cloudflare:workers'\nimport { durableObjects } from '@sluice/cloudflare/durable-object'",
  )
  .replace("file('.sluice')", 'durableObjects(env.LIMITS)')
  .replace('usd(5)', 'usd(0.1), waitUntil')
  .replace(/gpt-[\w.-]+/, 'gpt-4o')}
export { LimitsObject } from '@sluice/cloudflare/durable-object'

export default {
  async fetch(request) {
    try {
      const { output_text } = await answer(new URL(request.url).searchParams.get('tenant'), 'Why?')
      return new Response(output_text)
    } catch ({ status, message }) {
      return new Response(message, { status: status ?? 500 })
    }
  },
}`

/** The bill of the stand-in for each call: 2 tokens of input and 100 of output, at the list prices of gpt-4o. */
const COST = 2 * 2.5 + 100 * 10
const ANSWER = {
  object: 'response',
  status: 'completed',
  model: 'gpt-4o-2024-08-06',
  output: [
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'It scatters light.', annotations: [] }],
    },
  ],
  usage: { input_tokens: 2, output_tokens: 100, total_tokens: 102 },
}

/** The calls that were sent to the stand-in, and those that it keeps waiting. */
let sent = 0
let held: ServerResponse[] | undefined
const upstream = createServer((incoming, outgoing) => {
  incoming.resume()
  sent += 1
  if (held) held.push(outgoing)
  else reply(outgoing)
})

function reply(outgoing: ServerResponse): void {
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify(ANSWER))
}

let miniflare: Miniflare
let worker: URL

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { outputFiles } = await build({
    stdin: {
      contents: WORKER,
      loader: 'ts',
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['cloudflare:*', 'node:*'],
  })
  miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    workers: [
      {
        config: {
          name: 'worker',
          compatibilityDate: '2026-05-01',
          // The client of OpenAI reads its key from the environment.
          compatibilityFlags: ['nodejs_compat'],
          manifest: {
            mainModule: 'index.js',
            modules: { 'index.js': { type: 'esm', contents: outputFiles[0]?.text ?? '' } },
          },
          exports: { LimitsObject: { type: 'durable-object', storage: 'sqlite' } },
          env: {
            OPENAI_API_KEY: { type: 'text', value: 'no-key-is-needed' },
            OPENAI_BASE_URL: {
              type: 'text',
              value: `http://127.0.0.1:${addressOf(upstream).port}/v1`,
            },
            LIMITS: { type: 'durable-object', worker: 'worker', exportName: 'LimitsObject' },
          },
        },
      },
    ],
  })
  worker = await miniflare.ready
})
afterAll(async () => {
  await miniflare.dispose()
  upstream.closeAllConnections()
  upstream.close()
})

async function ask(tenant: string): Promise<number> {
  const answer = await fetch(new URL(`?tenant=${tenant}`, worker))
  await answer.text()
  return answer.status
}

it('in a Worker, a tenant has no more calls in flight than its budget pays for, and other tenants have theirs', async () => {
  held = []
  const before = sent
  const calls = Promise.all(Array.from({ length: 10 }, () => ask('globex')))
  // 4,096 tokens of output are reserved for each: $0.041 of $0.10.
  await vi.waitFor(() => expect(held).toHaveLength(2), PATIENTLY)
  const other = ask('initech')
  await vi.waitFor(() => expect(held).toHaveLength(3), PATIENTLY)
  held.forEach(reply)
  held = undefined
  const statuses = await calls
  // The client tries again what calls in flight have kept out.
  const allowed = statuses.filter((status) => status === 200).length
  expect(allowed).toBeGreaterThanOrEqual(2)
  expect(statuses.filter((status) => status === 429)).toHaveLength(10 - allowed)
  expect(await other).toBe(200)
  expect(sent - before).toBe(allowed + 1)
})

it('in a Worker, what a call has not used is for the next, until the budget is spent', async () => {
  const before = sent
  // 4,096 tokens of output must fit beside what is spent.
  const most = Math.floor((usd(0.1) - 4_096 * 10) / COST)
  for (let calls = 0; calls < most; calls += 1) {
    // The last call is settled after its answer.
    await vi.waitFor(async () => expect(await ask('acme')).toBe(200), PATIENTLY)
  }
  await vi.waitFor(async () => expect(await ask('acme')).toBe(429), PATIENTLY)
  expect(sent - before).toBeGreaterThanOrEqual(most)
  expect((sent - before) * COST).toBeLessThanOrEqual(usd(0.1))
})
