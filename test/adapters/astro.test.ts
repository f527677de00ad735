import { fileURLToPath } from 'node:url'
import { rateLimit } from '@sluice/adapters/astro'
import { decisionOf, reservationOf } from '@sluice/core/http'
import { dev, type AstroIntegration } from 'astro'
import { afterAll, beforeAll, vi } from 'vitest'
import { adapterCases } from './cases.ts'
import { sameDecision, type Serve } from './support.ts'

const PATHS = ['/api/ai/chat', '/api/ai/settle', '/api/ai/stream', '/api/ai/fail', '/free', '/500']
const fixture = (file: string) => fileURLToPath(new URL(`fixture/astro/${file}`, import.meta.url))

const routes: AstroIntegration = {
  name: 'routes',
  hooks: {
    'astro:config:setup'({ injectRoute, addMiddleware }) {
      addMiddleware({ order: 'pre', entrypoint: fixture('middleware.ts') })
      for (const pattern of PATHS) injectRoute({ pattern, entrypoint: fixture('endpoint.ts') })
    },
  },
}

let server: Awaited<ReturnType<typeof dev>>

beforeAll(async () => {
  vi.stubEnv('ASTRO_TELEMETRY_DISABLED', '1')
  // In tests, Astro would start a server without the app.
  vi.stubEnv('VITEST', undefined)
  server = await dev({
    root: fixture(''),
    configFile: false,
    logLevel: 'silent',
    output: 'server',
    security: { checkOrigin: false },
    integrations: [routes],
    server: { port: 0, host: '127.0.0.1' },
    devToolbar: { enabled: false },
    vite: { server: { ws: false, watch: null } },
  })
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await server.stop()
})

const serve: Serve = async ({ limiter, options, chat, settle, stream, fail, free }) => {
  const answers: Record<string, (request: Request) => BodyInit | Promise<BodyInit>> = {
    '/api/ai/chat': chat,
    '/api/ai/settle': (request) =>
      settle(sameDecision(reservationOf(request), decisionOf(request))),
    '/api/ai/stream': stream,
    '/api/ai/fail': fail,
    '/free': free,
  }
  const limit = rateLimit(limiter, {
    ...options,
    routes: PATHS.filter((path) => path.startsWith('/api')),
  })
  globalThis.astroApp = {
    onRequest: limit,
    async answer({ request, routePattern }) {
      const answer = answers[routePattern]
      return answer ? new Response(await answer(request)) : new Response(null, { status: 500 })
    },
  }
  return { url: `http://127.0.0.1:${server.address.port}`, close: async () => {} }
}

adapterCases(serve, {
  spellings: ['/api/ai/%63hat', '/%61pi/ai/chat', '/api/ai/chat/'],
  waitsForReaders: false,
  listensPerRequest: true,
})
