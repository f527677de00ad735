import { tenantFromJwt } from '../../../auth'
import { getLimiter, routes } from '../../../limits'

/** What is left of the caller's budgets for one route. Looking charges nothing. */
export async function GET(request: Request): Promise<Response> {
  const subject = await tenantFromJwt(request)
  if (subject === null) return Response.json({ error: 'unauthenticated' }, { status: 401 })
  const wanted = new URL(request.url).searchParams.get('route')
  const route = routes.find(({ id }) => id === wanted)?.id
  if (route === undefined) return Response.json({ error: 'unknown_route' }, { status: 404 })
  const { policies, plan, degraded } = await getLimiter().peek({ ...subject, route })
  return Response.json(
    {
      plan,
      degraded: degraded !== undefined,
      policies: policies.map(({ name, limit, remaining, resetMs }) => ({
        name,
        limit,
        remaining,
        resetMs,
      })),
    },
    { headers: { 'cache-control': 'no-store' } },
  )
}
