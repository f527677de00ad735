import { SignJWT, UnsecuredJWT } from 'jose'

export const SECRET = 'e2e-secret-of-at-least-32-characters'

/** The claims of a token. */
export interface Claims {
  tenant?: unknown
  plan?: unknown
  issuer?: string
  audience?: string
  secret?: string
  /** A duration such as `'1h'` or `'-1s'`; `null` leaves `exp` out. */
  expires?: string | null
}

/** A token as the apps accept it, unless `claims` says otherwise. */
export function signed(claims: Claims): Promise<string> {
  const jwt = build(new SignJWT(payloadOf(claims)), claims).setProtectedHeader({ alg: 'HS256' })
  return jwt.sign(new TextEncoder().encode(claims.secret ?? SECRET))
}

/** A token with `alg: none` and no signature. */
export function unsigned(claims: Claims): string {
  return build(new UnsecuredJWT(payloadOf(claims)), claims).encode()
}

const payloadOf = ({ tenant, plan }: Claims): Record<string, unknown> => ({ tenant, plan })

function build<T extends SignJWT | UnsecuredJWT>(jwt: T, claims: Claims): T {
  const { issuer = 'sluice-demo', audience = 'sluice-demo-ai', expires = '1h' } = claims
  jwt.setIssuer(issuer).setAudience(audience)
  if (expires !== null) jwt.setExpirationTime(expires)
  return jwt
}
