import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLocal, type LocalServer } from '@sluice/local'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  vi,
} from 'vitest'
import { CHAT_SSE } from '../ai/recordings.ts'

type Handler = (request: Request) => Response | Promise<Response>

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('start-', import.meta.url)))
let local: LocalServer
beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await local.close()
})
beforeEach(() => {
  vi.stubEnv('UPSTASH_REDIS_REST_URL', local.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', local.token)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

/** Writes the files of a page as it names them, and imports one of them. */
async function load<Exports>(name: string, file: string): Promise<Exports> {
  for (const [path, code] of pageOf(name).files) {
    const target = join(folder, name, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, code)
  }
  return (await import(join(folder, name, file))) as Exports
}

function pageOf(name: string) {
  const text = readFileSync(new URL(`../../docs/start/${name}.md`, import.meta.url), 'utf8')
  const blocks = (pattern: RegExp) => Array.from(text.matchAll(pattern), ([, ...found]) => found)
  return {
    files: blocks(/```ts\n\/\/ (\S+)\n([^]*?)```/g) as [string, string][],
    texts: blocks(/```text\n([^]*?)\n```/g).map(([lines = '']) => lines),
  }
}

describe('the page to start with the AI SDK', () => {
  it('shows how its chat answers, and how a denied call does', async () => {
    const { fetch } = globalThis
    const toModel: string[] = []
    vi.stubGlobal('fetch', (url: string, init?: RequestInit) => {
      if (!url.startsWith('https://api.openai.com/')) return fetch(url, init)
      toModel.push(url)
      const headers = { 'content-type': 'text/event-stream' }
      return Promise.resolve(new Response(CHAT_SSE, { headers }))
    })
    const { limiter } = await load<{ limiter: { reset(subject: object): Promise<void> } }>(
      'ai-sdk',
      'limits.ts',
    )
    await limiter.reset({ tenant: 'acme' })
    const { POST } = await load<{ POST: Handler }>('ai-sdk', 'app/api/chat/route.ts')
    const { texts } = pageOf('ai-sdk')
    const parts = [{ type: 'text', text: 'Why is the sky blue?' }]
    const body = JSON.stringify({ messages: [{ id: '1', role: 'user', parts }] })
    const send = async (authorization: string) =>
      POST(
        new Request('http://localhost:3000/api/chat', {
          method: 'POST',
          headers: { authorization },
          body,
        }),
      )
    const first = await lines(await send('Bearer key-1'))
    expect(first.slice(0, 2).join('\n')).toBe(texts[0])
    expect(first.join('\n')).toContain('text-delta')
    for (let sent = 1; sent < 20; sent += 1) await lines(await send('Bearer key-1'))
    expect(toModel).toHaveLength(20)
    expect((await lines(await send('Bearer key-1'))).join('\n')).toBe(texts[1])
    expect(toModel).toHaveLength(20)
    expect((await send('Bearer other')).status).toBe(401)
  })
})

const lines = async (answer: Response): Promise<string[]> =>
  (await answer.text()).split('\n').filter(Boolean)
