import type { Decision } from '@sluice/core'
import { tenantFromJwt, type Tenant } from '../../../lib/auth/jwt'
import { chatLimiter } from '../../../lib/limits/chat'
import { limiter, routes } from '../../../lib/limits/ai-routes'

/** Answers with the rest of the caller's budgets for one route. Charges nothing. */
export async function GET(request: Request): Promise<Response> {
  const subject = await tenantFromJwt(request)
  if (subject === null) return Response.json({ error: 'unauthenticated' }, { status: 401 })
  const decision = await peek(subject, new URL(request.url).searchParams.get('route'))
  if (decision === undefined) return Response.json({ error: 'unknown_route' }, { status: 404 })
  const { policies, plan, degraded } = decision
  return Response.json(
    {
      plan,
      degraded: degraded !== undefined,
      policies: policies.map(({ name, unit, limit, remaining, resetMs }) => ({
        name,
        unit,
        limit,
        remaining,
        resetMs,
      })),
    },
    { headers: { 'cache-control': 'no-store' } },
  )
}

async function peek(subject: Tenant, routeId: string | null): Promise<Decision | undefined> {
  if (routeId === 'chat') return chatLimiter.peek(subject, { cost: { token: 0, usd: 0 } })
  const route = routes.find(({ id }) => id === routeId)?.id
  return route === undefined ? undefined : limiter.peek({ ...subject, route })
}
