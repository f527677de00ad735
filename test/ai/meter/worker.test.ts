import { once } from 'node:events'
import { createServer, request as httpRequest, type ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Usage } from '@sluice/ai'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addressOf } from '../../e2e/support/ports.ts'
import { CHAT_SSE } from '../recordings.ts'

/** Meters what the upstream answers, and reports what is settled back to it. */
const WORKER = `
import { meter } from '@sluice/ai'
export default {
  async fetch(request, env, ctx) {
    const { searchParams } = new URL(request.url)
    const answer = await fetch(env.UPSTREAM + '/answer')
    return meter(answer, {
      inputTokens: 77,
      settle: (usage) => fetch(env.UPSTREAM + '/settled', { method: 'POST', body: JSON.stringify(usage) }),
      ...(searchParams.has('wait') && { waitUntil: (promise) => ctx.waitUntil(promise) }),
      ...(searchParams.has('signal') && { signal: request.signal }),
    })
  },
}`

const events = CHAT_SSE.split(/(?<=\n\n)/)
let settled: Usage[] = []
let answering: ServerResponse | undefined
/** True if the upstream goes on sending after its first events. */
let talks = true
let miniflare: Miniflare
let url: URL

const upstream = createServer((incoming, outgoing) => {
  if (incoming.url === '/settled') {
    let text = ''
    incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
    incoming.on('end', () => {
      settled.push(JSON.parse(text) as Usage)
      outgoing.end()
    })
    return
  }
  answering = outgoing
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events.slice(0, 5)) outgoing.write(event)
  if (talks) goOn(outgoing)
})

/** Says something every now and then, as long as anybody listens. */
function goOn(outgoing: ServerResponse): void {
  const timer = setInterval(() => outgoing.write(': still here\n\n'), 20)
  outgoing.on('close', () => clearInterval(timer))
}

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { outputFiles } = await build({
    stdin: { contents: WORKER, resolveDir: fileURLToPath(new URL('../..', import.meta.url)) },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    conditions: ['workerd', 'worker', 'import'],
  })
  const contents = outputFiles[0]?.text ?? ''
  miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    workers: [
      {
        config: {
          name: 'meter',
          compatibilityDate: '2026-10-01',
          compatibilityFlags: ['enable_request_signal'],
          manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
          env: {
            UPSTREAM: { type: 'text', value: `http://127.0.0.1:${addressOf(upstream).port}` },
          },
        },
      },
    ],
  })
  url = await miniflare.ready
})
afterAll(async () => {
  await miniflare.dispose()
  upstream.closeAllConnections()
  upstream.close()
})
beforeEach(() => {
  settled = []
  answering = undefined
  talks = true
})

/** Reads the beginning of an answer and goes away; resolves when the upstream has noticed. */
async function goAway(query: string): Promise<void> {
  const client = httpRequest(new URL(query, url))
  client.on('error', () => undefined)
  client.end()
  const [answer] = (await once(client, 'response')) as [NodeJS.ReadableStream]
  await once(answer, 'data')
  const gone = once(answering ?? upstream, 'close')
  client.destroy()
  if (!talks && answering !== undefined) goOn(answering)
  await gone
}

const BROKEN_OFF = { model: 'gpt-4o-2024-08-06', input: 77, source: 'counted', complete: false }

describe('in a Worker', () => {
  it('an answer passes unchanged and is settled', async () => {
    const answer = await fetch(new URL('?wait', url))
    for (const event of events.slice(5)) answering?.write(event)
    answering?.end()
    const text = (await answer.text()).replaceAll(': still here\n\n', '')
    expect(text).toBe(CHAT_SSE)
    await expect.poll(() => settled).toHaveLength(1)
    expect(settled).toMatchObject([{ input: 1_204, output: 310, source: 'provider' }])
  })

  it.each(['?wait', '?wait&signal'])(
    'a client that goes away stops the upstream, and is settled (%s)',
    async (query) => {
      await goAway(query)
      await expect.poll(() => settled, { timeout: 10_000 }).toHaveLength(1)
      expect(settled).toMatchObject([BROKEN_OFF])
      expect(settled[0]?.output).toBeGreaterThan(0)
    },
  )

  it('a client that goes away while the upstream is silent is settled when the upstream sends again', async () => {
    talks = false
    await goAway('?wait')
    await expect.poll(() => settled, { timeout: 10_000 }).toHaveLength(1)
    expect(settled).toMatchObject([BROKEN_OFF])
  })

  it('without waitUntil, a call whose client went away is not settled', async () => {
    await goAway('?')
    // Another request has come and gone, and been settled; the first never is.
    await goAway('?wait')
    await expect.poll(() => settled, { timeout: 10_000 }).toHaveLength(1)
    expect(settled).toHaveLength(1)
  })
})
