import { createServer as createHttp2Server } from 'node:http2'
import { createAdaptorServer } from '@hono/node-server'
import { rateLimit } from '@sluice/core/http'
import { expect, it } from 'vitest'
import { hangUpCases } from '../../adapters/hang-ups.ts'
import { createApp, listen, type App, type Serve } from '../../adapters/support.ts'
import { perMinute } from './support.ts'

const fetchOf = ({ limiter, options, chat }: App) =>
  rateLimit(limiter, { routes: ['/api/ai/**'], ...options }, () => new Response(chat()))

const serve: Serve = (app) => listen(createAdaptorServer({ fetch: fetchOf(app) }))

hangUpCases(serve, {
  serveHttp2: (app) =>
    listen(createAdaptorServer({ fetch: fetchOf(app), createServer: createHttp2Server })),
})

it('answers HEAD of a denied route on a server of Node.js, without a body', async () => {
  const served = await serve(createApp(perMinute(0)))
  try {
    const request = { method: 'HEAD', headers: { 'x-tenant': 'acme' } }
    const answer = await fetch(`${served.url}/api/ai/chat`, request)
    expect([answer.status, await answer.text()]).toEqual([429, ''])
  } finally {
    await served.close()
  }
})
