import { jwtVerify, SignJWT } from 'jose'

/** The tenant of a request, its plan, and its idempotency key, by which retries are known. */
export type Tenant = { tenant: string; plan: string; call?: string }

const ISSUER = 'sluice-demo'
const AUDIENCE = 'sluice-demo-ai'

/** Returns the tenant of a request's verified JWT, or `null`, which is answered with 401. */
export async function tenantFromJwt(request: Request): Promise<Tenant | null> {
  const jwt = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (jwt === undefined) return null
  const secret = signingSecret()
  try {
    const { payload } = await jwtVerify(jwt, secret, {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      requiredClaims: ['exp'], // otherwise a JWT without `exp` is valid for ever
    })
    const { tenant, plan } = payload
    if (typeof tenant !== 'string' || tenant === '' || typeof plan !== 'string') return null
    return { tenant, plan, ...callOf(request) }
  } catch {
    return null
  }
}

function callOf({ headers }: Request): { call?: string } {
  const call = headers.get('idempotency-key') ?? ''
  return /^[\w-]{1,64}$/.test(call) ? { call } : {}
}

/** Signs a JWT that is valid for an hour. In a real app the identity provider does this. */
export function signToken({ tenant, plan }: Tenant): Promise<string> {
  return new SignJWT({ tenant, plan })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setExpirationTime('1h')
    .sign(signingSecret())
}

function signingSecret(): Uint8Array {
  const secret = new TextEncoder().encode(process.env['DEMO_JWT_SECRET'])
  if (secret.length < 32) throw new Error('Set DEMO_JWT_SECRET to 32 characters or more')
  return secret
}
