import { serve } from '@hono/node-server'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { rateLimit } from '@sluice/adapters/hono'
import { countMessages } from '@sluice/adapters/mcp'
import { Hono } from 'hono'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'
import { createTools } from './tools.ts'

const app = new Hono()
const mcp = createMcpHandler(createTools)
app.use('/mcp', rateLimit(limiter, { subject: tenantFromJwt, cost: countMessages() }))
app.post('/mcp', (context) => mcp.fetch(context.req.raw))

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })
