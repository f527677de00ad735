import { rateLimit } from '@sluice/adapters/hono'
import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { perMinute, subject } from '../core/http/support.ts'

it('answers what Hono routes, and denies what is beyond the limit', async () => {
  const app = new Hono()
  app.use('/api/ai/*', rateLimit(perMinute(2), { subject }))
  app.post('/api/ai/chat', (context) => context.text('answer'))
  const send = () =>
    app.request('/api/ai/chat', { method: 'POST', headers: { 'x-tenant': 'acme' } })
  const answers = [await send(), await send(), await send()]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual([
    '1',
    '0',
    '0',
  ])
})
