import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import { InputError, StoreError } from '../errors.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { assertKnownOptions, invalidOption } from '../internal/validation.ts'
import { assertSubject } from '../limiter/call.ts'
import { retryWrite } from '../limiter/retry-write.ts'
import { listField, readAll } from './key-list.ts'
import { keyRecords, type KeyRecords } from './key-records.ts'
import { addKey, draw, keyWrite, removeKey, type DrawnKey } from './new-key.ts'
import {
  apiKeyOf,
  dimensionsOf,
  ID,
  isExpired,
  parseList,
  parseStored,
  PREFIX,
  recordKey,
  type ApiKey,
  type StoredKey,
} from './record.ts'

/** Options of `createApiKey`. */
export interface ApiKeyOptions {
  /** The time for which it is valid. @default until it is revoked */
  readonly expiresIn?: Duration
  /** Its beginning: at most 20 letters, digits, `_` or `-`. @default 'sk_' */
  readonly prefix?: string
}

/** A new key. */
export interface NewApiKey extends ApiKey {
  /** The key itself. Show it once: it is stored nowhere. */
  readonly key: string
}

const DEFAULT_PREFIX = 'sk_'

/** The time for which a new key is kept that has not replaced another yet. */
const DRAFT_MS = 60_000

/**
 * Creates an API key of a tenant in the store of a limiter. `apiKeys` resolves requests that are sent with it to this
 * subject, with its name as the dimension `key`. The store keeps its SHA-256 alone.
 *
 * @throws InputError When the subject has no tenant, or has a `key`.
 * @throws ConfigError When an option is unknown or out of range, or the tenant has 1,000 keys.
 * @throws StoreError When the store fails.
 * @example
 * const { key, id } = await createApiKey(limiter, { tenant: 'acme', plan: 'growth' }, { expiresIn: '90d' })
 */
export async function createApiKey(
  limiter: Limiter,
  subject: Subject,
  options: ApiKeyOptions = {},
): Promise<NewApiKey> {
  assertKnownOptions('createApiKey', options, ['expiresIn', 'prefix'])
  const { prefix, lifetimeMs } = assertNewKey('createApiKey', options)
  const records = keyRecords(limiter)
  const drawn = await draw(assertOwner(subject), prefix, lifetimeMs, records.clock())
  await addKey(records, drawn)
  return newKeyOf(drawn)
}

/**
 * Lists the keys of a tenant, those that have expired in the last 30 days among them.
 *
 * @throws InputError When `tenant` is no text.
 * @throws StoreError When the store fails.
 * @example
 * const unused = (await listApiKeys(limiter, 'acme')).filter(({ lastUsedAt }) => lastUsedAt === undefined)
 */
export async function listApiKeys(limiter: Limiter, tenant: string): Promise<ApiKey[]> {
  const records = keyRecords(limiter)
  const [text] = await records.read([await listField({ tenant })])
  return readAll(records, parseList(text))
}

/**
 * Reads a key by its name.
 *
 * @returns `undefined` if there is none.
 * @throws StoreError When the store fails.
 * @example
 * const key = await readApiKey(limiter, 'key_0123456789abcdef')
 */
export async function readApiKey(limiter: Limiter, id: string): Promise<ApiKey | undefined> {
  const [key] = await readAll(keyRecords(limiter), [id])
  return key
}

/**
 * Replaces a key: creates one of the same subject and lifetime, and lets the old one expire. Nothing is created for a key
 * that is refused, also when somebody else rotates or revokes it at the same time.
 *
 * @param options Those of the new key, and `overlap`: the time for which the old one stays valid; `0` ends it at once.
 * @default a day
 * @throws InputError When there is no key of this name, it has expired, or another has replaced it.
 * @throws ConfigError When an option is unknown or out of range, or the tenant has 1,000 keys.
 * @throws StoreError When the store fails. The key may have been replaced then.
 * @example
 * const { key } = await rotateApiKey(limiter, 'key_0123456789abcdef', { overlap: '7d' })
 */
export async function rotateApiKey(
  limiter: Limiter,
  id: string,
  options: ApiKeyOptions & { readonly overlap?: Duration } = {},
): Promise<NewApiKey> {
  assertKnownOptions('rotateApiKey', options, ['overlap', 'expiresIn', 'prefix'])
  const { overlap = '1d', ...ofNew } = options
  const overlapMs = lengthMs('rotateApiKey.overlap', overlap)
  const { prefix, lifetimeMs } = assertNewKey('rotateApiKey', ofNew)
  const records = keyRecords(limiter)
  const { stored: old } = await readStored(records, id)
  assertReplaceable(old, records.clock())
  const drawn = await draw(old.subject, prefix, lifetimeMs ?? old.lifetimeMs, records.clock())
  // Forgotten soon, unless it replaces the old one.
  await addKey(records, drawn, { ttlMs: DRAFT_MS })
  try {
    await changeKey(records, id, (stored, now) => {
      assertReplaceable(stored, now)
      const replaced = { ...expiring(stored, now + overlapMs), replacedBy: drawn.id }
      return [replaced, drawn.stored]
    })
  } catch (error) {
    if (error instanceof InputError) await removeKey(records, drawn.id, old.subject)
    // Only the reply may be lost, and with it the only copy of the new key.
    if (!(error instanceof StoreError) || !(await isReplacedBy(records, id, drawn.id))) throw error
  }
  return newKeyOf(drawn)
}

/**
 * Lets a key expire. One that expires sooner stays as it is.
 *
 * @param within From now. `0` is at once.
 * @throws InputError When there is no key of this name.
 * @throws ConfigError When the duration is out of range.
 * @throws StoreError When the store fails.
 * @example
 * await expireApiKey(limiter, 'key_0123456789abcdef', '1h')
 */
export async function expireApiKey(
  limiter: Limiter,
  id: string,
  within: Duration,
): Promise<ApiKey> {
  const ms = lengthMs('expireApiKey.within', within)
  let expired: StoredKey | undefined
  await changeKey(keyRecords(limiter), id, (stored, now) => {
    expired = expiring(stored, now + ms)
    return [expired]
  })
  return apiKeyOf(expired as StoredKey)
}

/**
 * Removes a key at once. An isolate that has just seen it accepts it for five seconds more.
 *
 * @returns False if there was none.
 * @throws StoreError When the store fails.
 * @example
 * await revokeApiKey(limiter, 'key_0123456789abcdef')
 */
export async function revokeApiKey(limiter: Limiter, id: string): Promise<boolean> {
  const key = await readApiKey(limiter, id)
  if (!key) return false
  await removeKey(keyRecords(limiter), id, key.subject)
  return true
}

/** Returns true if a key is known to be replaced by another. */
async function isReplacedBy(records: KeyRecords, id: string, by: string): Promise<boolean> {
  try {
    return (await readStored(records, id)).stored.replacedBy === by
  } catch {
    return false
  }
}

const newKeyOf = ({ key, stored }: DrawnKey): NewApiKey => ({ key, ...apiKeyOf(stored) })

/** Writes the keys that a change makes of a key, in one step. Begins again when others were faster. */
export async function changeKey(
  records: KeyRecords,
  id: string,
  change: (stored: StoredKey, now: number) => readonly StoredKey[],
): Promise<void> {
  await retryWrite(async () => {
    const { text, stored } = await readStored(records, id)
    const now = records.clock()
    const writes = change(stored, now).map((changed) => keyWrite(changed, now))
    return records.write(writes, { key: recordKey(id), field: 'key', is: text })
  })
}

/** @throws InputError When there is no key of this name. */
async function readStored(records: KeyRecords, id: string) {
  const [text] = await records.read([{ key: recordKey(id), field: 'key' }])
  const stored = parseStored(text)
  if (stored) return { text, stored }
  const rule = ID.test(id)
    ? 'names no key, or one that was revoked'
    : 'must be the name of a key, such as key_0123456789abcdef'
  throw new InputError('invalid_subject', 'id', rule)
}

const lengthMs = (option: string, length: Duration): number =>
  length === 0 ? 0 : durationMs(option, length)

const expiring = (stored: StoredKey, at: number): StoredKey => ({
  ...stored,
  expiresAt: Math.min(stored.expiresAt ?? Infinity, at),
})

function assertReplaceable(stored: StoredKey, now: number): void {
  const { replacedBy } = stored
  if (replacedBy !== undefined) {
    const rule = `names a key that was rotated: rotate ${replacedBy}, which has replaced it, or create another`
    throw new InputError('invalid_subject', 'id', rule)
  }
  if (!isExpired(stored, now)) return
  throw new InputError('invalid_subject', 'id', 'names a key that has expired: create another')
}

function assertNewKey(
  name: string,
  { expiresIn, prefix = DEFAULT_PREFIX }: ApiKeyOptions,
): { readonly prefix: string; readonly lifetimeMs: number | undefined } {
  const lifetimeMs =
    expiresIn === undefined ? undefined : durationMs(`${name}.expiresIn`, expiresIn)
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return { prefix, lifetimeMs }
  const rule = 'must have at most 20 letters, digits, "_" or "-"'
  // Not shown: it may be a whole key.
  throw invalidOption(`${name}.prefix`, rule)
}

function assertOwner(subject: unknown): Readonly<Record<string, string>> {
  assertSubject(subject)
  const dimensions = dimensionsOf(subject)
  if (!dimensions['tenant']) {
    throw new InputError('missing_dimension', 'subject.tenant', 'must name whose key it is')
  }
  const wrong = Object.entries(dimensions).find(([, value]) => typeof value !== 'string' || !value)
  if (wrong) throw new InputError('invalid_subject', `subject.${wrong[0]}`, 'must be a text')
  if (dimensions['key'] === undefined) return dimensions
  throw new InputError('invalid_subject', 'subject.key', 'is the name that the key gets')
}
