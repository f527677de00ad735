import { rateLimit } from '@sluice/adapters/fastify'
import fastify from 'fastify'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

const app = fastify()
app.register(rateLimit(limiter, { subject: tenantFromJwt }))
app.get('/health', { config: { rateLimit: false } }, async () => 'ok')
app.post('/api/ai/chat', async () => ({ answer: 42 }))

await app.listen({ port: Number(process.env.PORT ?? 3000) })
