import { jwtVerify } from 'jose'
import type { Subject } from '@sluice/core'
import type { Env } from './env.ts'

/** Returns the tenant of a request's verified JWT, or `null`, which is answered with 401. */
export async function tenantFromJwt(request: Request, env: Env): Promise<Subject | null> {
  const jwt = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (jwt === undefined) return null
  const secret = new TextEncoder().encode(env.JWT_SECRET)
  if (secret.length < 32) throw new Error('Set JWT_SECRET to 32 characters or more')
  try {
    const { payload } = await jwtVerify(jwt, secret, {
      algorithms: ['HS256'],
      issuer: 'sluice-demo',
      audience: 'sluice-demo-ai',
      requiredClaims: ['exp'], // otherwise a JWT without `exp` is valid for ever
    })
    const { tenant, plan } = payload
    if (typeof tenant !== 'string' || tenant === '' || typeof plan !== 'string') return null
    return { tenant, plan }
  } catch {
    return null
  }
}
