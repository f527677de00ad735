import { rateLimit as workerRateLimit } from '@sluice/cloudflare'
import { slidingWindow, type Limiter } from '@sluice/core'
import { rateLimit, withRateLimit } from '@sluice/next'
import { denialId, flushDenials, readDenial, recordDenials } from '@sluice/usage/denials'
import type { NextRequest } from 'next/server.js'
import { describe, expect, it, vi } from 'vitest'
import { request, routes, subject } from '../../next/support/one-request.ts'
import { setUp } from '../../support/limiters.ts'

// Only workerd has this module.
vi.mock('cloudflare:workers', () => ({ waitUntil: () => undefined }))

const rpm = slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })
const options = { routes, subject, onDenied: denialId() }
const handle = (): Response => new Response('ok')
const context = { waitUntil: () => undefined, passThroughOnException: () => undefined }

// The cases of test/adapters hold those of frameworks to it.
describe.each([
  ['middleware of Next.js', (limiter) => rateLimit(limiter, options)],
  [
    'a route handler of Next.js',
    (limiter) => {
      const { onDenied } = options
      const limited = withRateLimit(handle, { limiter, route: 'evaluate', subject, onDenied })
      return (incoming) => limited(incoming, {})
    },
  ],
  [
    'a Worker',
    (limiter) => {
      const worker = workerRateLimit(limiter, options, handle)
      return (incoming) => worker(incoming, {}, context)
    },
  ],
] satisfies [
  string,
  (limiter: Limiter) => (incoming: NextRequest) => Response | Promise<Response>,
][])('%s', (_, adapter) => {
  it('answers a denial with the id that leads to it', async () => {
    const { limiter } = setUp([rpm], { extensions: [recordDenials({ flushEvery: '1h' })] })
    const limited = adapter(limiter)
    const send = () =>
      limited(request('/api/ai/evaluate', { headers: { 'x-request-id': 'req_7' } }))
    await send()
    const denied = await send()
    expect([denied.status, denied.headers.get('x-request-id')]).toEqual([429, 'req_7'])
    await flushDenials(limiter)
    expect(await readDenial(limiter, 'acme', 'req_7')).toMatchObject({
      reason: 'rate_limit_exceeded',
    })
  })
})
