import { rateLimit } from '@sluice/adapters/express'
import express from 'express'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

const app = express()
const limit = rateLimit(limiter, { subject: tenantFromJwt })
app.post('/api/ai/chat', limit, (_req, res) => void res.json({ answer: 42 }))

app.listen(Number(process.env.PORT ?? 3000))
