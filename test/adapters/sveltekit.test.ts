import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rateLimit } from '@sluice/adapters/sveltekit'
import { decisionOf, reservationOf } from '@sluice/core/http'
import type { RequestEvent } from '@sveltejs/kit'
import { sequence, type Handle } from '@sveltejs/kit/hooks'
import { getRequest, setResponse } from '@sveltejs/kit/node'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { perMinute, subject } from '../core/http/support.ts'
import { mistakesAreNamed } from '../support/mistakes.ts'
import { adapterCases } from './cases.ts'
import { listen, sameDecision, type App, type Serve, type Served } from './support.ts'

/** The parts that the built app takes from the test, because it is built once. */
interface UnderTest {
  readonly handle: Handle
  readonly handlers: Record<string, (event: RequestEvent) => Response | Promise<Response>>
}
const shared = globalThis as { underTest?: UnderTest }

/** The files of the app. Its routes are in a group, which the URL and the limits leave out. */
const FILES: Readonly<Record<string, string>> = {
  'vite.config.js': `import { sveltekit } from '@sveltejs/kit/vite'
    export default { logLevel: 'error', plugins: [sveltekit({ csrf: { trustedOrigins: ['*'] } })] }`,
  'src/app.html': '%sveltekit.head%%sveltekit.body%',
  'src/hooks.server.js': 'export const handle = (input) => globalThis.underTest.handle(input)',
  ...Object.fromEntries(
    ['api/ai/chat', 'api/ai/settle', 'api/ai/stream', 'api/ai/fail', 'api/ai/[model]', 'free'].map(
      (route) => [
        `src/routes/(app)/${route}/+server.js`,
        `export const GET = (event) => globalThis.underTest.handlers['${route}'](event)
         export const POST = GET`,
      ],
    ),
  ),
}

/** The server of a built app. */
interface KitServer {
  init(options: { env: object }): Promise<void>
  respond(
    request: Request,
    options: { getClientAddress: () => string; platform: object },
  ): Promise<Response>
}

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('sveltekit-', import.meta.url)))
let server: KitServer

beforeAll(async () => {
  for (const [file, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  await promisify(execFile)('vite', ['build'], { cwd: folder })
  const output = join(folder, '.svelte-kit/output/server')
  const { Server } = (await import(join(output, 'index.js'))) as {
    Server: new (manifest: object) => KitServer
  }
  const { manifest } = (await import(join(output, 'manifest-full.js'))) as { manifest: object }
  server = new Server(manifest)
  await server.init({ env: {} })
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Serves the built app with other handlers, as `@sveltejs/adapter-node` does. */
function listenerFor(underTest: UnderTest) {
  shared.underTest = underTest
  return (request: IncomingMessage, response: ServerResponse): void => {
    const base = `http://${String(request.headers[':authority'] ?? request.headers.host)}`
    const respond = async () => {
      const incoming = getRequest({ request, response, base })
      const options = { getClientAddress: () => '127.0.0.1', platform: { req: request } }
      setResponse(response, await server.respond(incoming, options))
    }
    respond().catch((error: unknown) => response.destroy(error as Error))
  }
}

const serveWith = (underTest: UnderTest): Promise<Served> =>
  listen(createServer(listenerFor(underTest)))

const appOf = ({ limiter, options, chat, settle, stream, fail, free }: App): UnderTest => ({
  handle: rateLimit(limiter, {
    routes: ['/api/ai/chat', '/api/ai/settle', '/api/ai/**'],
    ...options,
  }),
  handlers: {
    'api/ai/chat': () => new Response(chat()),
    'api/ai/settle': async ({ request }) =>
      new Response(await settle(sameDecision(reservationOf(request), decisionOf(request)))),
    'api/ai/stream': () => new Response(stream()),
    'api/ai/fail': () => fail(),
    free: () => new Response(free()),
  },
})

const serve: Serve = (app) => serveWith(appOf(app))

const serveHttp2: Serve = (app) => listen(createHttp2Server(listenerFor(appOf(app)) as never))

adapterCases(serve, { spellings: ['/api/ai/%63hat', '/%61pi/ai/chat'], serveHttp2 })

const authenticate: Handle = ({ event, resolve }) => {
  Object.assign(event.locals, { tenant: event.request.headers.get('x-tenant') })
  return resolve(event)
}

describe('the hook', () => {
  it('works in a sequence, and gives the functions of the options the event', async () => {
    const limiter = perMinute(9)
    const check = vi.spyOn(limiter, 'check')
    const limit = rateLimit(limiter, {
      routes: [
        { path: '/api/ai/:model', id: 'model', cost: (_, { params }) => params.model?.length ?? 1 },
      ],
      subject: (_, { locals }) => locals,
    })
    const served = await serveWith({
      handle: sequence(authenticate, limit),
      handlers: { 'api/ai/[model]': ({ params }) => new Response(params.model) },
    })
    try {
      const answer = await fetch(`${served.url}/api/ai/large`, {
        method: 'POST',
        headers: { 'x-tenant': 'acme' },
      })
      expect(await answer.text()).toBe('large')
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('4')
      expect(check.mock.calls[0]?.[0]).toEqual({ tenant: 'acme', route: 'model' })
    } finally {
      await served.close()
    }
  })

  it('leaves alone what no route is for', async () => {
    const handle = rateLimit(perMinute(0), { routes: ['/**'], subject })
    const served = await serveWith({ handle, handlers: {} })
    try {
      expect((await fetch(`${served.url}/nowhere`)).status).toBe(404)
    } finally {
      await served.close()
    }
  })

  it.each(['ctx', 'context'])(
    'lets the limiter work past the response, by platform.%s',
    async (name) => {
      const limiter = perMinute(9)
      const check = vi.spyOn(limiter, 'check')
      const waitUntil = vi.fn<(promise: Promise<unknown>) => void>()
      const request = new Request('https://app.example/chat', { headers: { 'x-tenant': 'acme' } })
      const event = { request, route: { id: '/chat' }, platform: { [name]: { waitUntil } } }
      const handle = rateLimit(limiter, { routes: ['/chat'], subject })
      await handle({ event: event as never, resolve: () => new Response() })
      const work = Promise.resolve()
      check.mock.calls[0]?.[1]?.waitUntil?.(work)
      expect(waitUntil).toHaveBeenCalledExactlyOnceWith(work)
    },
  )

  it('leaves remote functions alone, whose clients choose the route', async () => {
    const event = { route: { id: '/chat' }, isRemoteRequest: true }
    const handle = rateLimit(perMinute(0), { routes: ['/chat'], subject })
    const answer = await handle({ event: event as never, resolve: () => new Response('remote') })
    expect(await answer.text()).toBe('remote')
  })
})

describe('options are checked at once', () => {
  const routes = ['/**']
  mistakesAreNamed([
    ['no routes', () => rateLimit(perMinute(1), { subject } as never), 'routes'],
    ['no subject', () => rateLimit(perMinute(1), { routes } as never), 'subject'],
    ['no limiter', () => rateLimit(undefined as never, { routes, subject }), 'limiter'],
    ['no options', () => rateLimit(perMinute(1), undefined as never), 'rateLimit'],
  ])
})
