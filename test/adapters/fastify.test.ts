import { rateLimit, reservationOf } from '@sluice/adapters/fastify'
import fastify from 'fastify'
import { adapterCases } from './cases.ts'
import type { Serve } from './support.ts'

const serve: Serve = async ({ limiter, options, chat, settle, stream, fail, free }) => {
  const app = fastify({ forceCloseConnections: true, routerOptions: { ignoreTrailingSlash: true } })
  app.register(async (ai) => {
    ai.register(rateLimit(limiter, options))
    ai.post('/api/ai/chat', async () => chat())
    ai.post('/api/ai/settle', async (request) => settle(reservationOf(request)))
    ai.post('/api/ai/stream', async () => stream())
    ai.post('/api/ai/fail', async () => fail())
  })
  app.post('/free', async () => free())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, close: () => app.close() }
}

adapterCases(serve, { spellings: ['/api/ai/%63hat', '/%61pi/ai/chat', '/api/ai/chat/'] })
