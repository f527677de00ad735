import { parseArgs } from 'node:util'

export const TOKEN_USAGE: string = `Usage: sluice-local token --tenant NAME [options]

A JWT for requests to your own app during development, signed with HS256. The secret is JWT_SECRET of
.env.local, .dev.vars or .env in this folder: the first file that has it.

  --tenant NAME        the claim "tenant"
  --plan NAME          the claim "plan"
  --claim NAME=VALUE   any other claim, as text; repeatable
  --expires DURATION   how long it is valid: 90s, 15m, 1h, 7d (default: 1h, at most 30d)
  --variable NAME      the variable that holds the secret (default: JWT_SECRET)
  --help               print this

  curl -H "authorization: Bearer $(npx sluice-local token --tenant acme)" http://localhost:3000/api/ai
`

/** The options of `sluice-local token`. */
export interface TokenOptions {
  readonly claims: Readonly<Record<string, string>>
  readonly lifetimeSeconds: number
  /** The name of the variable that holds the secret. */
  readonly variable: string
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** The longest lifetime that `jwtSubject` accepts by default, in seconds. */
const MAX_SECONDS = 30 * 86_400

/**
 * Reads the arguments after `token`. Returns `'help'` if they ask for it.
 *
 * @throws Error When an option is unknown or malformed, or there is no claim.
 */
export function parseTokenOptions(args: string[]): TokenOptions | 'help' {
  const { values } = parseArgs({
    args,
    options: {
      tenant: { type: 'string' },
      plan: { type: 'string' },
      claim: { type: 'string', multiple: true },
      expires: { type: 'string', default: '1h' },
      variable: { type: 'string', default: 'JWT_SECRET' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return 'help'
  const { tenant, plan, claim = [], expires, variable } = values
  const claims = [
    ...Object.entries({ tenant, plan }).filter(([, value]) => value !== undefined),
    ...claim.map(parseClaim),
  ] as [string, string][]
  return { claims: toObject(claims), lifetimeSeconds: parseLifetime(expires), variable }
}

function parseClaim(text: string): [name: string, value: string] {
  const [, name, value] = /^([^=]+)=([^]*)$/.exec(text) ?? []
  if (name !== undefined && value !== undefined) return [name, value]
  throw new Error(`--claim ${text} must be NAME=VALUE, such as --claim user=u_17`)
}

function toObject(claims: readonly [name: string, value: string][]): Record<string, string> {
  if (claims.length === 0) throw new Error('name a tenant, such as --tenant acme')
  for (const [index, [name, value]] of claims.entries()) {
    if (value === '') throw new Error(`the claim "${name}" must not be empty`)
    if (/^(exp|iat|nbf)$/.test(name)) throw new Error(`the claim "${name}" is set by --expires`)
    if (claims.findIndex(([other]) => other === name) < index) {
      throw new Error(`the claim "${name}" is given twice`)
    }
  }
  return Object.fromEntries(claims)
}

function parseLifetime(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const seconds = Number(number) * (UNIT_SECONDS[unit] ?? Number.NaN)
  if (seconds >= 1 && seconds <= MAX_SECONDS) return seconds
  throw new Error(`--expires ${text} must be a number of s, m, h or d up to 30d, such as 15m`)
}
