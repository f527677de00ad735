import type { Subject } from '@sluice/core'
import { Refusal, refuse } from '@sluice/core/http'
import { apiKeySubject, firstOf } from '@sluice/core/identity'
import type { Redis } from './redis.ts'

/** The record of a virtual key. The key itself is stored nowhere. */
export interface KeyRecord {
  readonly id: string
  /** The organisation that pays. */
  readonly tenant: string
  readonly team?: string
  readonly user?: string
  /** One of the plans in `limits.ts`. */
  readonly plan: string
  /** The time of its creation, in ISO 8601. */
  readonly created: string
}

/** The Redis hash that has the record of each key, by the SHA-256 of the key. */
export const KEYS = 'sluice-gateway:keys'

/** The time that an isolate relies on a look-up. A revoked key stops working within it. */
const FRESH_MS = 5_000

/** The most known keys that an isolate remembers, and the most unknown ones. */
const MOST = 10_000

/** Random bytes after `sk-`, as `scripts/key-store.mjs` writes them. Other texts are not looked up. */
const FORM = /^sk-[\w-]{43}$/

const INVALID = refuse({
  status: 401,
  code: 'invalid_api_key',
  message: 'This API key is missing, unknown or revoked.',
  headers: { 'WWW-Authenticate': 'Bearer' },
})

/** The form of the names of tenants, teams, users and runs. */
export const NAME = /^[\w.@-]{1,64}$/

const INVALID_RUN = refuse({
  status: 400,
  code: 'invalid_run',
  message: 'x-agent-run must be 1 to 64 letters, digits, "_", ".", "@" or "-".',
})

const UNAVAILABLE = refuse({
  status: 503,
  code: 'keys_unavailable',
  message: 'API keys cannot be verified at the moment.',
  headers: { 'Retry-After': '1' },
})

/** Finds the tenant of a request by its key, in `Authorization: Bearer` or in `x-api-key`. */
export type KeyVerifier = (request: Request) => Promise<Subject | Refusal>

/**
 * Creates a verifier of keys. It remembers each look-up for five seconds, as plain data: requests of an
 * isolate cannot share promises.
 */
export function keyVerifier(redis: Redis, clock: () => number = Date.now): KeyVerifier {
  // Apart, so that a flood of unknown keys makes it forget no known one.
  const known = new Map<string, { at: number; record: KeyRecord }>()
  const unknown = new Map<string, { at: number; record: null }>()

  async function lookup(key: string): Promise<Subject | null> {
    if (!FORM.test(key)) return null
    const hash = await hashOf(key)
    const at = clock()
    const last = known.get(hash) ?? unknown.get(hash)
    const isFresh = last !== undefined && at >= last.at && at - last.at < FRESH_MS
    const record = isFresh ? last.record : recordIn(await redis('HGET', KEYS, hash))
    if (!isFresh) {
      known.delete(hash)
      unknown.delete(hash)
      // From before the look-up: a reply may be slow, and a key revoked meanwhile.
      if (record) remember(known, hash, { at, record })
      else remember(unknown, hash, { at, record })
    }
    if (!record) return null
    const { id, tenant, team, user, plan } = record
    // Named even if undefined: their policies skip a key without them on purpose.
    return { tenant, plan, key: id, team, user, run: undefined }
  }

  const resolve = firstOf(apiKeySubject({ lookup }), apiKeySubject({ header: 'x-api-key', lookup }))
  return async (request) => {
    try {
      const subject = (await resolve(request)) ?? INVALID
      const run = request.headers.get('x-agent-run')
      return run === null || subject instanceof Refusal ? subject : withRun(subject, run)
    } catch (error) {
      console.error('A key could not be looked up:', error)
      return UNAVAILABLE
    }
  }
}

/** Adds the id of an agent's run, which the client chooses: a new one has a budget within the tenant's. */
function withRun(subject: Subject, run: string): Subject | Refusal {
  return NAME.test(run) ? { ...subject, run } : INVALID_RUN
}

/** Returns the name that a key is stored under. */
export async function hashOf(key: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Reads a record; anything else in its place is no key. */
export function recordIn(reply: unknown): KeyRecord | null {
  if (typeof reply !== 'string') return null
  try {
    const record = JSON.parse(reply) as KeyRecord
    const { id, tenant, plan, team = 'none', user = 'none' } = record
    const texts = [id, tenant, plan, team, user]
    return texts.every((text) => typeof text === 'string' && text) ? record : null
  } catch {
    return null
  }
}

function remember<Entry>(entries: Map<string, Entry>, hash: string, entry: Entry): void {
  entries.set(hash, entry)
  // The first in a map is the oldest.
  for (const oldest of entries.keys()) {
    if (entries.size <= MOST) return
    entries.delete(oldest)
  }
}
