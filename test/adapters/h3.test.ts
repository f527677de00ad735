import { rateLimit } from '@sluice/adapters/h3'
import { decisionOf, reservationOf } from '@sluice/core/http'
import { H3, serve as serveH3 } from 'h3'
import { adapterCases } from './cases.ts'
import { sameDecision, type Serve } from './support.ts'

const serve: Serve = async ({ limiter, options, chat, settle, stream, fail, free }) => {
  const app = new H3({ silent: true })
  app.use('/api/ai/**', rateLimit(limiter, options))
  app.post('/api/ai/chat', chat)
  app.post('/api/ai/settle', ({ req }) => settle(sameDecision(reservationOf(req), decisionOf(req))))
  app.post('/api/ai/stream', stream)
  app.post('/api/ai/fail', fail)
  app.post('/free', free)
  const server = serveH3(app, { port: 0, hostname: '127.0.0.1', silent: true })
  await server.ready()
  return {
    url: `http://127.0.0.1:${new URL(server.url ?? '').port}`,
    close: () => server.close(true),
  }
}

adapterCases(serve, { spellings: ['/api/ai/%63hat', '/%61pi/ai/chat', '/api/ai/chat/'] })
