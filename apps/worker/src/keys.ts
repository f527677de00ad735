import type { Limiter, Subject } from '@sluice/core'
import { apiKeys } from '@sluice/core/api-keys'
import { Refusal, refuse } from '@sluice/core/http'
import { firstOf } from '@sluice/core/identity'

const INVALID = refuse({
  status: 401,
  code: 'invalid_api_key',
  message: 'This API key is missing, unknown, expired or revoked.',
  headers: { 'WWW-Authenticate': 'Bearer' },
})

/** A role is no label: its holder should hear why the key opens nothing here. */
const WITH_ROLE = refuse({
  status: 403,
  code: 'key_with_role',
  message: 'A key with a role administers an organisation, and calls no model.',
})

/** The form of the name of a run. */
const RUN = /^[\w.@-]{1,64}$/

const INVALID_RUN = refuse({
  status: 400,
  code: 'invalid_run',
  message: 'x-agent-run must be 1 to 64 letters, digits, "_", ".", "@" or "-".',
})

/** Finds the subject of a request by its key, in `Authorization: Bearer` or in `x-api-key`. */
export type KeyVerifier = (request: Request) => Promise<Subject | Refusal>

/** Creates a verifier of the keys in the store of a limiter. */
export function keyVerifier(limiter: Limiter): KeyVerifier {
  const resolve = firstOf(apiKeys(limiter), apiKeys(limiter, { header: 'x-api-key' }))
  return async (request) => {
    const subject = (await resolve(request)) ?? INVALID
    if (subject instanceof Refusal) return subject
    if ('role' in subject) return WITH_ROLE
    // The client chooses it: a new run has a budget within the tenant's.
    const run = request.headers.get('x-agent-run') ?? undefined
    if (run !== undefined && !RUN.test(run)) return INVALID_RUN
    // Named even if undefined: their policies skip a key without them on purpose.
    return { team: undefined, user: undefined, ...subject, run }
  }
}
