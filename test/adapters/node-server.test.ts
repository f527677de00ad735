import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHAT_JSON, CHAT_SSE } from '../ai/recordings.ts'
import { DOORS, LIMIT, VERSIONS, type Door } from './node-server/doors.ts'
import { listen, type Served } from './support.ts'

const APP = fileURLToPath(new URL('node-server/app.ts', import.meta.url))
const COOKIES = ['a=1', 'b=2']
const JSON_TEXT = JSON.stringify(CHAT_JSON)

let billed = 0
const answerCall: RequestListener = (request, response) => {
  void text(request).then((body) => {
    const { stream } = JSON.parse(body) as { stream?: boolean }
    billed += 1
    response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json')
    response.setHeader('set-cookie', COOKIES)
    response.setHeader('x-upstream', 'yes')
    response.end(stream ? CHAT_SSE : JSON_TEXT)
  })
}

let provider: Served
beforeAll(async () => {
  provider = await listen(createServer(answerCall))
})
afterAll(() => provider.close())

describe.each(Object.keys(VERSIONS))('@hono/node-server %s', (version) => {
  let child: ChildProcess
  let url: string
  beforeAll(async () => {
    child = fork(APP, [version, provider.url], { execArgv: [] })
    const started = await Promise.race([once(child, 'message'), once(child, 'exit')])
    url = String(started[0])
  })
  afterAll(() => void child.kill())

  /** Sends a call through a door, as a tenant of its own. */
  async function send(
    door: Door,
    tenant: string,
    options: { readonly stream?: true; readonly stream_options?: object } = {},
  ) {
    const messages = [{ role: 'user', content: 'Why?' }]
    const answer = await fetch(`${url}/chat`, {
      method: 'POST',
      headers: { 'x-door': door, 'x-tenant': tenant, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages, ...options }),
    })
    return { answer, body: await answer.text() }
  }

  describe.each(DOORS)('%s', (door) => {
    it('loses no answer that was billed, and denies the calls beyond the limit', async () => {
      const before = billed
      const answers = []
      for (let time = 0; time <= LIMIT; time += 1) answers.push(await send(door, `${door}, json`))
      expect(answers.map(({ answer }) => answer.status)).toEqual([200, 200, 200, 429])
      expect(billed - before).toBe(LIMIT)
      const remaining = answers.map(({ answer }) => answer.headers.get('x-ratelimit-remaining'))
      expect(remaining).toEqual(['2', '1', '0', '0'])

      const [{ answer, body }] = answers as [Awaited<ReturnType<typeof send>>]
      expect(body).toBe(door === 'trpc' ? `{"result":{"data":${JSON_TEXT}}}` : JSON_TEXT)
      expect(answer.headers.get('content-type')).toBe('application/json')
      if (door === 'trpc') return
      expect(answer.headers.get('x-upstream')).toBe('yes')
      // A model's cookies are the operator's.
      const cookies = door.startsWith('modelHandler') ? [] : COOKIES
      expect(answer.headers.getSetCookie()).toEqual(cookies)
    })

    it.skipIf(door === 'trpc')('passes a stream on', async () => {
      const { answer, body } = await send(door, `${door}, stream`, {
        stream: true,
        stream_options: { include_usage: true },
      })
      expect([answer.status, body]).toEqual([200, CHAT_SSE])
      expect(answer.headers.get('content-type')).toBe('text/event-stream')
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('2')
    })
  })
})
