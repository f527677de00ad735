import { createHmac } from 'node:crypto'
import { listOf, textOf, type Command } from '../command.ts'
import { variableOf } from '../env-files.ts'
import { refuse } from '../errors.ts'

export const token: Command = {
  summary: 'a JWT for requests to your own app during development',
  usage: `Usage: sluice token --tenant NAME [options]

Prints a JWT that is signed with HS256. The secret is JWT_SECRET of .env.local, .dev.vars or .env: the first file
that has it. The environment is not read, so that the secret of a deployment is never used by mistake.

  --tenant NAME         the claim "tenant"
  --plan NAME           the claim "plan"
  --claim NAME=VALUE    any other claim, as text; repeatable
  --expires DURATION    how long it is valid: 90s, 15m, 1h, 7d (default: 1h, at most 30d)
  --variable NAME       the variable that holds the secret (default: JWT_SECRET)
`,

  async run(values, _, { folder }) {
    const named = ['tenant', 'plan'].flatMap((name) => {
      const value = textOf(values, name)
      return value === undefined ? [] : [[name, value] as const]
    })
    const claims = claimsOf([...named, ...listOf(values, 'claim').map(claimOf)])
    const lifetimeSeconds = lifetimeOf(textOf(values, 'expires') ?? '1h')
    const secret = secretOf(textOf(values, 'variable') ?? 'JWT_SECRET', folder)
    const iat = Math.floor(Date.now() / 1_000)
    const jwt = sign({ ...claims, iat, exp: iat + lifetimeSeconds }, secret)
    return { text: jwt, json: { token: jwt, claims, expiresAt: (iat + lifetimeSeconds) * 1_000 } }
  },
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** The longest lifetime that `jwtSubject` accepts by default, in seconds. */
const MAX_SECONDS = 30 * 86_400

/** The shortest secret that `jwtSubject` accepts, in characters. HS256 needs 32 bytes (RFC 7518, section 3.2). */
const MIN_SECRET_LENGTH = 32

/** The form of the name of a variable. A secret in its place is hardly ever in capitals. */
const VARIABLE = /^[A-Z][A-Z0-9_]{0,63}$/

function claimOf(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([^=]+)=([^]*)$/.exec(text) ?? []
  if (name !== undefined && value !== undefined) return [name, value]
  return refuse('--claim must be NAME=VALUE, such as --claim user=u_17')
}

function claimsOf(
  claims: readonly (readonly [name: string, value: string])[],
): Readonly<Record<string, string>> {
  if (claims.length === 0) refuse('name a tenant, such as --tenant acme')
  for (const [index, [name, value]] of claims.entries()) {
    if (value === '') refuse(`the claim "${name}" must not be empty`)
    if (/^(exp|iat|nbf)$/.test(name)) refuse(`the claim "${name}" is set by --expires`)
    if (claims.findIndex(([other]) => other === name) < index)
      refuse(`the claim "${name}" is given twice`)
  }
  return Object.fromEntries(claims)
}

function lifetimeOf(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const seconds = Number(number) * (UNIT_SECONDS[unit] ?? Number.NaN)
  if (seconds >= 1 && seconds <= MAX_SECONDS) return seconds
  return refuse(`--expires ${text} must be a number of s, m, h or d up to 30d, such as 15m`)
}

/** The error never contains the secret. */
function secretOf(variable: string, folder: string): string {
  if (!VARIABLE.test(variable))
    refuse('--variable must be the name of a variable, such as JWT_SECRET')
  const { value, file } = variableOf(variable, folder)
  if (value.length >= MIN_SECRET_LENGTH) return value
  return refuse(
    `${variable} of ${file} is too short for HS256: it must have at least ${MIN_SECRET_LENGTH} characters. Make one: openssl rand -hex 32`,
  )
}

/** Signs claims with HS256, as a JWT (RFC 7515, RFC 7519). */
function sign(claims: object, secret: string): string {
  const [header, payload] = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const signature = createHmac('sha256', secret).update(`${header}.${payload}`)
  return `${header}.${payload}.${signature.digest('base64url')}`
}
