import { rateLimit } from '@sluice/adapters/h3'
import { H3, serve } from 'h3'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

const app = new H3()
app.use('/api/ai/**', rateLimit(limiter, { subject: tenantFromJwt }))
app.post('/api/ai/chat', () => ({ answer: 42 }))

serve(app, { port: Number(process.env.PORT ?? 3000) })
