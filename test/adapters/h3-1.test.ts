import { createServer } from 'node:http'
import { decisionOf, rateLimit, reservationOf } from '@sluice/adapters/express'
import {
  createApp,
  createRouter,
  defineEventHandler,
  setResponseHeader,
  toNodeListener,
  type EventHandler,
} from 'h3-1'
import { adapterCases } from './cases.ts'
import { listen, sameDecision, type Serve } from './support.ts'

/** H3 1, on which Nuxt 4 and Nitro 2 are built: the adapter of Express around each handler. */
const serve: Serve = async ({ limiter, options, chat, settle, stream, fail, free }) => {
  const limited = (route: string, handler: EventHandler): EventHandler => {
    const limit = rateLimit(limiter, { ...options, route })
    return defineEventHandler(async (event) => {
      const { req, res } = event.node
      // It never ends for a request that is refused: H3 would go on where the client has hung up.
      await new Promise<void>((resolve, reject) => {
        limit(req as never, res as never, (error) => {
          if (error === undefined) resolve()
          else reject(error as Error)
        })
      })
      return handler(event) as unknown
    })
  }
  const router = createRouter()
    .use(
      '/api/ai/chat',
      limited('/api/ai/chat', () => chat()),
    )
    .post(
      '/api/ai/settle',
      limited('/api/ai/settle', ({ node: { req } }) =>
        settle(sameDecision(reservationOf(req), decisionOf(req))),
      ),
    )
    .post(
      '/api/ai/stream',
      limited('/api/ai/stream', (event) => {
        setResponseHeader(event, 'content-type', 'text/plain')
        return stream()
      }),
    )
    .post(
      '/api/ai/fail',
      limited('/api/ai/fail', () => fail()),
    )
    .post(
      '/free',
      defineEventHandler(() => free()),
    )
  const app = createApp({ onError: () => undefined }).use(router)
  return listen(createServer(toNodeListener(app)))
}

adapterCases(serve, { spellings: ['/api/ai/chat/'], waitsForReaders: false })
