import type { ResolvedSubject } from '../http/guard/subject-resolver.ts'
import type { Subject } from '../subject.ts'
import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose'
import { ConfigError } from '../errors.ts'
import { refuse, type Refusal } from '../http/answers/refusal.ts'
import {
  assertFunction,
  assertInteger,
  assertKnownOptions,
  assertPositiveInteger,
  invalidOption,
} from '../internal/validation.ts'
import { readCredential } from './header.ts'
import { remoteKeys } from './jwks.ts'
import { assertDimensionName, assertHeaderName } from './names.ts'

/** Options of `jwtSubject`. Give either `secret` or `jwksUrl`. */
export interface JwtSubjectOptions {
  /**
   * The shared secret of an HMAC signature: at least 32 characters. Or a function that returns it, called at
   * the first request: a build has no secret. Its result is kept.
   */
  readonly secret?: string | (() => string | undefined) | undefined
  /** The URL of the issuer's public keys, a JWKS. */
  readonly jwksUrl?: string | undefined
  /** The accepted algorithms, such as `['HS256']` or `['RS256', 'ES256']`. Never `none`. */
  readonly algorithms: readonly string[]
  /** The required issuer (`iss`). */
  readonly issuer?: string
  /** The required audience (`aud`). */
  readonly audience?: string
  /**
   * The claim for each dimension, or the path to a nested one, such as `['app_metadata', 'tenant']`. A JWT
   * must have all of them, as non-empty strings.
   *
   * @default { tenant: 'tenant' }
   */
  readonly claims?: Readonly<Record<string, string | readonly string[]>>
  /** The request header that holds the JWT; in `Authorization`, the part after `Bearer`. @default 'Authorization' */
  readonly header?: string
  /** The longest time from now to `exp`, in seconds. @default 30 days */
  readonly maxLifetimeSeconds?: number
  /** The tolerated difference of clocks, in seconds. @default 5 */
  readonly clockToleranceSeconds?: number
  /** The timeout of a request for the keys, in milliseconds. @default 1_000 */
  readonly jwksTimeoutMs?: number
  /** The time, for tests, in epoch ms. @default the machine's clock */
  readonly clock?: () => number
}

const OPTIONS = [
  'secret',
  'jwksUrl',
  'algorithms',
  'issuer',
  'audience',
  'claims',
  'header',
  'maxLifetimeSeconds',
  'clockToleranceSeconds',
  'jwksTimeoutMs',
  'clock',
]

/** The longest JWT that is read, in characters. */
const MAX_LENGTH = 8_192

/**
 * Creates a resolver that takes the subject from the claims of a verified JWT. The JWT must have a valid
 * signature, an `exp`, and everything that is configured; otherwise the request is answered with 401. If
 * the issuer's keys cannot be fetched in time, the JWT cannot be verified, and the answer is 503.
 *
 * @throws ConfigError When an option is unknown, missing or malformed. If `secret` is a function, the
 * resolver throws `missing_credentials` when it returns nothing.
 * @example
 * jwtSubject({ secret: () => process.env.JWT_SECRET, algorithms: ['HS256'] })
 * @example
 * jwtSubject({
 *   jwksUrl: 'https://issuer.example/.well-known/jwks.json',
 *   algorithms: ['RS256'],
 *   issuer: 'https://issuer.example/',
 *   audience: 'https://api.example',
 *   claims: { tenant: 'org_id', user: 'sub', plan: 'plan' },
 * })
 */
export function jwtSubject(
  options: JwtSubjectOptions,
): (request: Request) => Promise<ResolvedSubject> {
  assertKnownOptions('jwtSubject', options, OPTIONS)
  const findKey = keySource(options)
  const header = assertHeaderName('jwtSubject.header', options.header ?? 'Authorization')
  const claims = assertClaims(options.claims ?? { tenant: 'tenant' })
  const algorithms = assertAlgorithms(options)
  const lifetime = assertPositiveInteger(
    'jwtSubject.maxLifetimeSeconds',
    options.maxLifetimeSeconds ?? 30 * 86_400,
  )
  const { clockToleranceSeconds = 5 } = options
  const tolerance = 'jwtSubject.clockToleranceSeconds'
  const clockTolerance = assertInteger(tolerance, clockToleranceSeconds, 0, 300)
  const { clock = Date.now } = options
  assertFunction('jwtSubject.clock', clock)
  const expected = { ...textOption('issuer', options), ...textOption('audience', options) }

  return async (request) => {
    // First: a framework that renders routes while it builds stops here, and a build has no secret.
    const jwt = readCredential(request, header)
    // Before anything is caught: a missing secret is a mistake, not invalid credentials.
    const key = findKey()
    if (jwt === undefined || jwt.length > MAX_LENGTH) return null
    const now = clock()
    let payload: JWTPayload
    try {
      ;({ payload } = await jwtVerify(jwt, key, {
        algorithms,
        requiredClaims: ['exp'],
        currentDate: new Date(now),
        clockTolerance,
        ...expected,
      }))
    } catch (error) {
      return isInvalidJwt(error) ? null : KEYS_UNAVAILABLE
    }
    const { exp } = payload
    const livesTooLong = !Number.isSafeInteger(exp) || (exp as number) > now / 1000 + lifetime
    return livesTooLong ? null : subjectOf(payload, claims)
  }
}

const KEYS_UNAVAILABLE: Refusal = refuse({
  status: 503,
  code: 'identity_unavailable',
  message: 'Credentials cannot be verified at the moment. Retry in 1 s.',
  headers: { 'Retry-After': '1' },
})

/** Returns true if the JWT is invalid, and false if the keys could not be fetched. */
function isInvalidJwt(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return false
  return error instanceof errors.JOSEError
}

/** Returns a function that finds the key of a signature; at its first call, if a function has the secret. */
function keySource(options: JwtSubjectOptions): () => JWTVerifyGetKey {
  const { secret, jwksUrl } = options
  if ((secret === undefined) === (jwksUrl === undefined)) {
    const message =
      'must have either "secret" or "jwksUrl"; if a build lacks the secret, write secret: () => process.env.JWT_SECRET'
    throw invalidOption('jwtSubject', message)
  }
  if (secret !== undefined) {
    let key: JWTVerifyGetKey | undefined = typeof secret === 'function' ? undefined : keyOf(secret)
    return () => (key ??= keyOf((secret as () => unknown)()))
  }
  if (typeof jwksUrl !== 'string' || !/^https?:/.test(jwksUrl) || !URL.canParse(jwksUrl)) {
    throw invalidOption('jwtSubject.jwksUrl', 'must be an http(s) URL')
  }
  const timeoutMs = options.jwksTimeoutMs ?? 1_000
  const keys = remoteKeys(new URL(jwksUrl), {
    timeoutMs: assertPositiveInteger('jwtSubject.jwksTimeoutMs', timeoutMs, 60_000),
    clock: options.clock ?? Date.now,
  })
  return () => keys
}

function keyOf(secret: unknown): JWTVerifyGetKey {
  if (secret === undefined || secret === '') {
    const message =
      'is missing; set the variable that it comes from, locally in .env, .env.local or .dev.vars, to what signs the JWTs'
    throw new ConfigError('missing_credentials', 'jwtSubject.secret', message)
  }
  if (typeof secret !== 'string' || secret.length < 32) {
    const given = typeof secret === 'string' ? `${secret.length}` : typeof secret
    const message = `must be a string of at least 32 characters, not ${given}; "openssl rand -base64 32" makes one`
    throw invalidOption('jwtSubject.secret', message)
  }
  const bytes = new TextEncoder().encode(secret)
  return () => bytes
}

function assertAlgorithms({ algorithms, secret }: JwtSubjectOptions): string[] {
  const family =
    secret === undefined ? /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/ : /^HS(256|384|512)$/
  if (Array.isArray(algorithms) && algorithms.length > 0) {
    if (algorithms.every((name) => typeof name === 'string' && family.test(name)))
      return [...algorithms]
  }
  throw invalidOption(
    'jwtSubject.algorithms',
    secret === undefined
      ? 'must list public-key algorithms, such as ["RS256"]'
      : 'must list HMAC algorithms, such as ["HS256"]',
  )
}

/** Returns the option, if it is set. `undefined` is an error, because it would check nothing. */
function textOption(
  name: 'issuer' | 'audience',
  options: JwtSubjectOptions,
): Partial<Record<typeof name, string>> {
  if (!(name in options)) return {}
  const value: unknown = options[name]
  if (typeof value === 'string' && value !== '') return { [name]: value }
  throw invalidOption(`jwtSubject.${name}`, 'must be a non-empty string')
}

type ClaimPaths = readonly (readonly [dimension: string, path: readonly string[]])[]

function assertClaims(claims: unknown): ClaimPaths {
  const paths = Object.entries(Object(claims) as object).map(
    ([dimension, claim]) => [dimension, [claim as unknown].flat()] as const,
  )
  if (paths.length > 0 && paths.every(([, path]) => isPath(path))) {
    for (const [dimension] of paths) assertDimensionName('jwtSubject.claims', dimension)
    return paths as ClaimPaths
  }
  throw invalidOption('jwtSubject.claims', 'must name a claim per dimension')
}

function isPath(path: readonly unknown[]): boolean {
  return path.length > 0 && path.every((name) => typeof name === 'string' && name !== '')
}

function subjectOf(payload: JWTPayload, claims: ClaimPaths): Subject | null {
  const subject: Record<string, string> = {}
  for (const [dimension, path] of claims) {
    const value = claimAt(payload, path)
    if (typeof value !== 'string' || value === '') return null
    subject[dimension] = value
  }
  return subject
}

function claimAt(payload: JWTPayload, path: readonly string[]): unknown {
  let value: unknown = payload
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
