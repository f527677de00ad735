import { serve } from '@hono/node-server'
import { rateLimit } from '@sluice/adapters/hono'
import { Hono } from 'hono'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

const app = new Hono()
app.use('/api/ai/*', rateLimit(limiter, { subject: tenantFromJwt }))
app.post('/api/ai/chat', (context) => context.json({ answer: 42 }))

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })
