import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import { ConfigError, InputError } from '../errors.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { assertKnownOptions } from '../internal/validation.ts'
import { assertSubject } from '../limiter/call.ts'
import { retryWrite } from '../limiter/retry-write.ts'
import { changeList, listField, readAll } from './key-list.ts'
import { keyRecords, type KeyRecords } from './key-records.ts'
import {
  apiKeyOf,
  dimensionsOf,
  drawKey,
  hashOf,
  ID,
  idOf,
  KEPT_MS,
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
  const { expiresIn, prefix = DEFAULT_PREFIX } = options
  const ms = expiresIn === undefined ? undefined : durationMs('createApiKey.expiresIn', expiresIn)
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) {
    const rule = 'must have at most 20 letters, digits, "_" or "-"'
    throw new ConfigError('invalid_option', 'createApiKey.prefix', rule, prefix)
  }
  const records = keyRecords(limiter)
  return create(records, assertOwner(subject), prefix, ms)
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
 * Replaces a key: creates one of the same subject and lifetime, and lets the old one expire.
 *
 * @param options Those of the new key, and `overlap`: the time for which the old one stays valid. @default a day
 * @throws InputError When there is no key of this name, or it has expired.
 * @throws ConfigError When an option is unknown or out of range.
 * @throws StoreError When the store fails. Both keys may be valid then.
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
  durationMs('rotateApiKey.overlap', overlap)
  const old = await readApiKey(limiter, id)
  if (!old) throw unknownKey(id)
  if ((old.expiresAt ?? Infinity) <= keyRecords(limiter).clock()) {
    throw new InputError('invalid_subject', 'id', 'names a key that has expired: create another')
  }
  const lifetime = old.lifetimeMs === undefined ? {} : { expiresIn: old.lifetimeMs }
  const created = await createApiKey(limiter, old.subject, { ...lifetime, ...ofNew })
  await expireApiKey(limiter, id, overlap)
  return created
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
  const ms = within === 0 ? 0 : durationMs('expireApiKey.within', within)
  const records = keyRecords(limiter)
  const field = { key: recordKey(id), field: 'key' }
  let expired: StoredKey | undefined
  await retryWrite(async () => {
    const [text] = await records.read([field])
    const stored = parseStored(text)
    if (!stored) throw unknownKey(id)
    const now = records.clock()
    const expiresAt = Math.min(stored.expiresAt ?? Infinity, now + ms)
    expired = { ...stored, expiresAt }
    const set = { key: JSON.stringify(expired) }
    const ttlMs = Math.max(1, expiresAt + KEPT_MS - now)
    return records.write([{ key: field.key, set, ttlMs }], { ...field, is: text })
  })
  return apiKeyOf(expired as StoredKey, undefined)
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
  const records = keyRecords(limiter)
  // Before the list: a name without its key is nothing.
  await records.remove([recordKey(id)])
  await changeList(records, key.subject, (ids) => ids.filter((one) => one !== id))
  return true
}

async function create(
  records: KeyRecords,
  subject: Readonly<Record<string, string>>,
  prefix: string,
  lifetimeMs: number | undefined,
): Promise<NewApiKey> {
  const key = drawKey(prefix)
  const hash = await hashOf(key)
  const createdAt = records.clock()
  const expiresAt = lifetimeMs === undefined ? undefined : createdAt + lifetimeMs
  const stored: StoredKey = { hash: hash as string, subject, createdAt, expiresAt, lifetimeMs }
  const id = idOf(stored.hash)
  const ttlMs = expiresAt === undefined ? {} : { ttlMs: expiresAt + KEPT_MS - createdAt }
  // Before the list: a name without its key is dropped from there. A key that nobody has been told is none.
  await records.write([{ key: recordKey(id), set: { key: JSON.stringify(stored) }, ...ttlMs }])
  try {
    await changeList(records, subject, (ids) => [...ids, id])
  } catch (error) {
    await records.remove([recordKey(id)])
    throw error
  }
  return { key, ...apiKeyOf(stored, undefined) }
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

const unknownKey = (id: string): InputError =>
  new InputError(
    'invalid_subject',
    'id',
    ID.test(id) ? 'names no key' : 'must be the name of a key, such as key_0123456789abcdef',
  )
