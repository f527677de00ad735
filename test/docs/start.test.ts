import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLocal, type LocalServer } from '@sluice/local'
import { SignJWT } from 'jose'
import { NextRequest } from 'next/server.js'
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
import { answersOn, expectShown } from './shown-answers.ts'
import { filesOf, startPage } from '../../scripts/start-pages.ts'
import { patient } from '../support/docs-block.ts'

const SECRET = 'a secret of at least thirty-two bytes'
/** A module that only workerd has. */
const ENV_OF_WORKERS = "import { env } from 'cloudflare:workers'"
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
  vi.stubEnv('JWT_SECRET', SECRET)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

/** Writes the files of a page as it names them, and imports one of them. */
async function load<Exports>(name: string, file: string): Promise<Exports> {
  for (const [path, code] of filesOf(startPage(name))) {
    const target = join(folder, name, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, patient(code).replace(ENV_OF_WORKERS, 'const { env } = process'))
  }
  return (await import(join(folder, name, file))) as Exports
}

function pageOf(name: string) {
  const text = startPage(name)
  const blocks = (pattern: RegExp) => Array.from(text.matchAll(pattern), ([, ...found]) => found)
  return {
    /** The answers that it shows: to the first request, and to a denied one. */
    answers: answersOn(text),
    texts: blocks(/```text\n([^]*?)\n```/g).map(([lines = '']) => lines),
  }
}

const token = () =>
  new SignJWT({ tenant: `start-${crypto.randomUUID()}` })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET))

describe.each([
  [
    'nextjs',
    async (): Promise<Handler> => {
      const { proxy } = await load<{ proxy: (request: NextRequest) => Promise<Response> }>(
        'nextjs',
        'proxy.ts',
      )
      const { POST } = await load<{ POST: Handler }>('nextjs', 'app/api/ai/chat/route.ts')
      return async (request) => {
        const answer = await proxy(new NextRequest(request))
        if (answer.headers.get('x-middleware-next') === null) return answer
        const response = await POST(request)
        for (const [name, value] of answer.headers) response.headers.set(name, value)
        return response
      }
    },
  ],
  [
    'cloudflare',
    async (): Promise<Handler> => {
      interface Worker {
        fetch(request: Request, env: object, ctx: object): Promise<Response>
      }
      const { default: worker } = await load<{ default: Worker }>('cloudflare', 'worker.ts')
      return (request) => worker.fetch(request, {}, { waitUntil: () => undefined })
    },
  ],
  ['fetch', async (): Promise<Handler> => (await load<{ app: Handler }>('fetch', 'app.ts')).app],
])('the page to start with %s', (name, start) => {
  it('shows what its app answers', async () => {
    const handler = await start()
    const authorization = `Bearer ${await token()}`
    const send = (headers: Record<string, string> = { authorization }) =>
      handler(new Request('http://localhost:3000/api/ai/chat', { method: 'POST', headers }))
    const { answers, texts } = pageOf(name)
    await expectShown(await send(), answers[0])
    const statuses: number[] = []
    for (let sent = 0; sent < 24; sent += 1) statuses.push((await send()).status)
    expect(statuses.join(' ')).toBe(texts[0])
    await expectShown(await send(), answers[1])
    expect((await send({})).status).toBe(401)
  })
})

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
    const authorization = `Bearer ${await token()}`
    const first = await lines(await send(authorization))
    expect(first.slice(0, 2).join('\n')).toBe(texts[0])
    expect(first.join('\n')).toContain('text-delta')
    for (let sent = 1; sent < 20; sent += 1) await lines(await send(authorization))
    expect(toModel).toHaveLength(20)
    expect((await lines(await send(authorization))).join('\n')).toBe(texts[1])
    expect(toModel).toHaveLength(20)
    expect((await send('Bearer other')).status).toBe(401)
  })
})

const lines = async (answer: Response): Promise<string[]> =>
  (await answer.text()).split('\n').filter(Boolean)
