import { signToken } from '../../../../auth'
import { tenants } from '../../../../lib/tenants'

/**
 * Gives anyone a token for one of the demo's tenants. Only a demo does that: in a real app tokens come
 * from the identity provider, after a login.
 */
export async function POST(request: Request): Promise<Response> {
  const body = (await request.json().catch(() => null)) as { tenant?: unknown } | null
  const tenant = tenants.find((known) => known.tenant === body?.tenant)
  if (tenant === undefined) {
    const message = `The tenants are ${tenants.map((known) => known.tenant).join(', ')}.`
    return Response.json({ error: 'unknown_tenant', message }, { status: 404 })
  }
  return Response.json(
    { ...tenant, token: await signToken(tenant) },
    { headers: { 'cache-control': 'no-store' } },
  )
}
