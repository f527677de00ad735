import { createLimiter, slidingWindow, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { NextRequest } from 'next/server.js'

export const secret = 'a secret that middleware and handlers share'
export const subject = (): { tenant: string } => ({ tenant: 'acme' })
export const routes = [{ path: '/api/ai/evaluate', id: 'evaluate' }]
const policy = slidingWindow({ name: 'one', limit: 1, window: '1h', per: ['tenant', 'route'] })
/** A limiter that allows a tenant one request an hour on each route. */
export const limiterOfOne = (): Limiter => createLimiter({ store: memory(), policies: [policy] })

export const request = (
  path: string,
  init: ConstructorParameters<typeof NextRequest>[1] = {},
): NextRequest => new NextRequest(`https://app.example${path}`, { method: 'POST', ...init })
