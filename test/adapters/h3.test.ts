import { createServer as createHttp2Server } from 'node:http2'
import { rateLimit } from '@sluice/adapters/h3'
import { decisionOf, reservationOf } from '@sluice/core/http'
import { H3, serve as serveH3, toNodeHandler } from 'h3'
import { adapterCases } from './cases.ts'
import { listen, sameDecision, type App, type Serve } from './support.ts'

function createH3({ limiter, options, chat, settle, stream, fail, free }: App): H3 {
  const app = new H3({ silent: true })
  app.use('/api/ai/**', rateLimit(limiter, options))
  app.get('/api/ai/chat', chat)
  app.post('/api/ai/chat', chat)
  app.post('/api/ai/settle', ({ req }) => settle(sameDecision(reservationOf(req), decisionOf(req))))
  app.post('/api/ai/stream', stream)
  app.post('/api/ai/fail', fail)
  app.post('/free', free)
  return app
}

const serve: Serve = async (parts) => {
  const server = serveH3(createH3(parts), { port: 0, hostname: '127.0.0.1', silent: true })
  await server.ready()
  return {
    url: `http://127.0.0.1:${new URL(server.url ?? '').port}`,
    close: () => server.close(true),
  }
}

adapterCases(serve, {
  spellings: ['/api/ai/%63hat', '/%61pi/ai/chat', '/api/ai/chat/'],
  serveHttp2: (parts) => listen(createHttp2Server(toNodeHandler(createH3(parts)))),
})
