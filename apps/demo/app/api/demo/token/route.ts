import { signToken } from '../../../../lib/auth/jwt'
import { readJson } from '../../../../lib/http/read-json'
import { tenants } from '../../../../lib/auth/tenants'
import { tokenRefusal } from '../../../../lib/auth/token-access'

const MAX_BODY_BYTES = 1_000

/**
 * Signs a token for one of the demo's tenants. Only a demo does that: in a real app, the identity
 * provider signs tokens after a login.
 */
export async function POST(request: Request): Promise<Response> {
  const refusal = tokenRefusal(request)
  if (refusal !== undefined) {
    return Response.json({ error: 'tokens_disabled', message: refusal }, { status: 403 })
  }
  const json = await readJson(request, MAX_BODY_BYTES)
  if (!('value' in json) && json.status === 413) {
    const message = `Send at most ${MAX_BODY_BYTES} bytes.`
    return Response.json({ error: 'body_too_large', message }, { status: 413 })
  }
  const body = ('value' in json ? json.value : null) as { tenant?: unknown } | null
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
