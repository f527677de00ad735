import type { ResolvedSubject } from '../http/guard/subject-resolver.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { refuse } from '../http/answers/refusal.ts'
import { apiKeySubject, type ApiKeySubjectOptions } from '../identity/header.ts'
import { isFresh } from '../internal/freshness.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { assertKnownOptions } from '../internal/validation.ts'
import { keyRecords } from './key-records.ts'
import {
  hashOf,
  idOf,
  isExpired,
  KEPT_MS,
  KEY_FIELDS,
  parseStored,
  recordKey,
  type StoredKey,
} from './record.ts'

/** Options of `apiKeys`. */
export type ApiKeysOptions = Pick<ApiKeySubjectOptions, 'header'>

/** The most keys that an isolate remembers, and the most texts that are no keys. */
const MAX_KNOWN = 10_000

/** The time for which a key that was seen is accepted while the store fails. */
const STALE_MS = 300_000

/** The time between two notes of the last use of a key. */
const USE_MS = 3_600_000

/** A look-up as an isolate remembers it. Plain data: a request cannot await another request's promise. */
interface LookUp {
  readonly at: number
  /** `undefined` for what is no key. */
  readonly stored: StoredKey | undefined
}

const UNAVAILABLE = refuse({
  status: 503,
  code: 'keys_unavailable',
  message: 'API keys cannot be verified at the moment.',
  headers: { 'Retry-After': '1' },
})

/**
 * Creates a resolver of the keys that `createApiKey` has made: `subject` of any adapter. The subject is that of the key,
 * with its name as `key`. An isolate relies on a look-up for five seconds. While the store fails, it accepts a key that
 * it has seen in the last five minutes, and answers others with 503.
 *
 * @param limiter A limiter over the store in which the keys are.
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * export const proxy = rateLimit(limiter, { routes: ['/api/ai/**'], subject: apiKeys(limiter) })
 */
export function apiKeys(
  limiter: Limiter,
  options: ApiKeysOptions = {},
): (request: Request) => Promise<ResolvedSubject> {
  assertKnownOptions('apiKeys', options, ['header'])
  const records = keyRecords(limiter)
  // Apart, so that a flood of unknown keys makes it forget no known one.
  const known = new RecentItems<LookUp>(MAX_KNOWN)
  const unknown = new RecentItems<LookUp>(MAX_KNOWN)

  async function lookup(key: string): Promise<ResolvedSubject> {
    const hash = await hashOf(key)
    if (hash === undefined) return null
    const now = records.clock()
    const last = known.get(hash) ?? unknown.get(hash)
    const isKnown = last !== undefined && isFresh(last.at, now)
    const found = isKnown ? last : await find(hash, now).catch(() => outdated(last, now))
    if (!found) return UNAVAILABLE
    const { stored } = found
    if (!stored || isExpired(stored, now)) return null
    return { ...stored.subject, key: idOf(hash) }
  }

  async function find(hash: string, at: number): Promise<LookUp> {
    const key = recordKey(idOf(hash))
    const [text, used] = await records.read(KEY_FIELDS.map((field) => ({ key, field })))
    const stored = parseStored(text)
    const isKnown = stored?.hash === hash
    const lookUp = { at, stored: isKnown ? stored : undefined }
    // A key that was revoked or made meanwhile changes its list.
    ;(isKnown ? unknown : known).delete(hash)
    ;(isKnown ? known : unknown).set(hash, lookUp)
    if (isKnown && !isExpired(stored, at) && !(Math.abs(at - Number(used ?? -Infinity)) < USE_MS)) {
      await noteUse(key, text, stored, at)
    }
    return lookUp
  }

  /** A key that was changed or revoked meanwhile stays as it is. Without a note, the next look-up makes it. */
  async function noteUse(
    key: string,
    text: string | undefined,
    { expiresAt }: StoredKey,
    at: number,
  ): Promise<void> {
    const ttlMs = expiresAt === undefined ? {} : { ttlMs: expiresAt + KEPT_MS - at }
    await records
      .write([{ key, set: { used: String(at) }, ...ttlMs }], { key, field: 'key', is: text })
      .catch(() => {})
  }

  return apiKeySubject({ ...options, lookup })
}

/** Returns a look-up of a key that may still be relied on without the store. */
function outdated(last: LookUp | undefined, now: number): LookUp | undefined {
  const isKnown = last?.stored !== undefined && Math.abs(now - last.at) < STALE_MS
  return isKnown ? last : undefined
}
