import { serve } from '@hono/node-server'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { rateLimit } from '@sluice/adapters/hono'
import { countMessages } from '@sluice/adapters/mcp'
import { Hono } from 'hono'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'
import { createTools } from './tools.ts'

const app = new Hono()
app.use('/mcp', rateLimit(limiter, { subject: tenantFromJwt, cost: countMessages() }))
app.post('/mcp', async (context) => {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await createTools().connect(transport)
  return transport.handleRequest(context.req.raw)
})

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })
