import type { ResolvedSubject } from '../http/subject-resolver.ts'
import type { Subject } from '../subject.ts'
import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose'
import { ConfigError } from '../errors.ts'
import { refuse, type Refusal } from '../http/refusal.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertPositiveInteger,
} from '../internal/validation.ts'
import { credential } from './header.ts'
import { remoteKeys } from './jwks.ts'
import { dimensionName, headerName } from './names.ts'

/** Options of `jwtSubject`. Give either `secret` or `jwksUrl`. */
export interface JwtSubjectOptions {
  /** The shared secret of an HMAC signature: at least 32 characters. */
  readonly secret?: string | undefined
  /** Where the issuer publishes its public keys. */
  readonly jwksUrl?: string | undefined
  /** The algorithms that are accepted, such as `['HS256']` or `['RS256', 'ES256']`. Never `none`. */
  readonly algorithms: readonly string[]
  /** Who must have issued the JWT (`iss`). */
  readonly issuer?: string
  /** Whom the JWT must be meant for (`aud`). */
  readonly audience?: string
  /**
   * Which claims become which dimensions; all of them must be there, as non-empty strings.
   *
   * @default { tenant: 'tenant' }
   */
  readonly claims?: Readonly<Record<string, string>>
  /** The request header that holds the JWT; of `Authorization`, what follows `Bearer`. @default 'Authorization' */
  readonly header?: string
  /** How far in the future `exp` may lie, in seconds. @default 30 days */
  readonly maxLifetimeSeconds?: number
  /** How far clocks may differ, in seconds. @default 5 */
  readonly clockToleranceSeconds?: number
  /** How long fetching the keys may take, in milliseconds. @default 1_000 */
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

/** A longer JWT is refused unread. */
const MAX_LENGTH = 8_192

/**
 * Takes the subject from the claims of a verified JWT. Nobody is found, and the request answered with
 * 401, unless the signature, `exp` (which must be there), and all that is configured hold. When the
 * issuer's keys cannot be fetched in time the request is answered with 503: nobody can tell then
 * whether the JWT is good.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
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
  const key = keySource(options)
  const header = headerName('jwtSubject.header', options.header ?? 'Authorization')
  const claims = validClaims(options.claims ?? { tenant: 'tenant' })
  const algorithms = validAlgorithms(options)
  const lifetime = assertPositiveInteger(
    'jwtSubject.maxLifetimeSeconds',
    options.maxLifetimeSeconds ?? 30 * 86_400,
  )
  const clockTolerance = validTolerance(options.clockToleranceSeconds ?? 5)
  const { clock = Date.now } = options
  assertFunction('jwtSubject.clock', clock)
  const expected = { ...validText('issuer', options), ...validText('audience', options) }

  return async (request) => {
    const jwt = credential(request, header)
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
      return isRefutation(error) ? null : KEYS_UNAVAILABLE
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

/** True if the JWT itself is at fault, rather than the way to the keys. */
function isRefutation(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return false
  return error instanceof errors.JOSEError
}

function keySource(options: JwtSubjectOptions): JWTVerifyGetKey {
  const { secret, jwksUrl } = options
  if ((secret === undefined) === (jwksUrl === undefined)) {
    throw new ConfigError('invalid_option', 'jwtSubject', 'needs either secret or jwksUrl')
  }
  if (secret !== undefined) {
    if (typeof secret !== 'string' || secret.length < 32) {
      const message = 'must be a string of at least 32 characters'
      throw new ConfigError('invalid_option', 'jwtSubject.secret', message)
    }
    const bytes = new TextEncoder().encode(secret)
    return () => bytes
  }
  if (typeof jwksUrl !== 'string' || !/^https?:/.test(jwksUrl) || !URL.canParse(jwksUrl)) {
    throw new ConfigError('invalid_option', 'jwtSubject.jwksUrl', 'must be an http(s) URL')
  }
  const timeoutMs = options.jwksTimeoutMs ?? 1_000
  return remoteKeys(new URL(jwksUrl), {
    timeoutMs: assertPositiveInteger('jwtSubject.jwksTimeoutMs', timeoutMs, 60_000),
    clock: options.clock ?? Date.now,
  })
}

function validAlgorithms({ algorithms, secret }: JwtSubjectOptions): string[] {
  const family =
    secret === undefined ? /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/ : /^HS(256|384|512)$/
  if (Array.isArray(algorithms) && algorithms.length > 0) {
    if (algorithms.every((name) => typeof name === 'string' && family.test(name)))
      return [...algorithms]
  }
  throw new ConfigError(
    'invalid_option',
    'jwtSubject.algorithms',
    secret === undefined
      ? 'must list public-key algorithms, such as ["RS256"]'
      : 'must list HMAC algorithms, such as ["HS256"]',
  )
}

function validTolerance(seconds: number): number {
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= 300) return seconds
  const message = 'must be a whole number from 0 to 300'
  throw new ConfigError('invalid_option', 'jwtSubject.clockToleranceSeconds', message)
}

/** The option as given. One that is there but `undefined` would silently check nothing. */
function validText(
  name: 'issuer' | 'audience',
  options: JwtSubjectOptions,
): Partial<Record<typeof name, string>> {
  if (!(name in options)) return {}
  const value: unknown = options[name]
  if (typeof value === 'string' && value !== '') return { [name]: value }
  throw new ConfigError('invalid_option', `jwtSubject.${name}`, 'must be a non-empty string')
}

function validClaims(claims: unknown): [dimension: string, claim: string][] {
  const entries = Object.entries((claims ?? {}) as Record<string, unknown>)
  if (
    entries.length > 0 &&
    entries.every(([, claim]) => typeof claim === 'string' && claim !== '')
  ) {
    for (const [dimension] of entries) dimensionName('jwtSubject.claims', dimension)
    return entries as [string, string][]
  }
  throw new ConfigError('invalid_option', 'jwtSubject.claims', 'must name a claim per dimension')
}

function subjectOf(
  payload: JWTPayload,
  claims: readonly [dimension: string, claim: string][],
): Subject | null {
  const subject: Record<string, string> = {}
  for (const [dimension, claim] of claims) {
    const value = Object.hasOwn(payload, claim) ? payload[claim] : undefined
    if (typeof value !== 'string' || value === '') return null
    subject[dimension] = value
  }
  return subject
}
