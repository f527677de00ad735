import { createHmac } from 'node:crypto'
import { findVariable } from './env-file.ts'
import type { TokenOptions } from './token-options.ts'

/** The shortest secret that `jwtSubject` accepts, in characters. HS256 needs 32 bytes (RFC 7518, section 3.2). */
const MIN_SECRET_LENGTH = 32

/**
 * Makes a JWT with a secret that it finds in `folder`.
 *
 * @throws Error When no file has a secret that is long enough. The text never contains the secret.
 */
export function createToken(options: TokenOptions, folder: string): string {
  const { claims, lifetimeSeconds, variable } = options
  const { value: secret, file } = findVariable(variable, folder)
  if (secret.length < MIN_SECRET_LENGTH) {
    throw new Error(
      `${variable} of ${file} is too short for HS256: it must have at least ${MIN_SECRET_LENGTH} ` +
        'characters. Make one: openssl rand -hex 32',
    )
  }
  const iat = Math.floor(Date.now() / 1_000)
  return sign({ ...claims, iat, exp: iat + lifetimeSeconds }, secret)
}

function sign(claims: object, secret: string): string {
  const [header, payload] = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const signature = createHmac('sha256', secret).update(`${header}.${payload}`)
  return `${header}.${payload}.${signature.digest('base64url')}`
}
