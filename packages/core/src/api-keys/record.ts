/* The record of a key. It never holds the key itself. */
import type { Subject } from '../subject.ts'
import { hex } from '../internal/hex.ts'
import { parseJson } from '../internal/attempt.ts'

/** An API key as its owner may see it: never the key itself. */
export interface ApiKey {
  /** Names it in logs, policies (`per: ['key']`) and commands. */
  readonly id: string
  /** The subject of requests that are sent with it. */
  readonly subject: Readonly<Record<string, string>>
  /** Epoch ms. */
  readonly createdAt: number
  /** The time from which it is refused, in epoch ms. @default it is valid until it is revoked */
  readonly expiresAt?: number | undefined
  /** The time for which it was made, in milliseconds. @default it was made for good */
  readonly lifetimeMs?: number | undefined
  /** The name of the key that `rotateApiKey` has made in its place. @default it was not rotated */
  readonly replacedBy?: string | undefined
  /** The time of a request that was sent with it, in epoch ms; one within the hour. @default none is known */
  readonly lastUsedAt?: number | undefined
}

/** A key as it is stored, as JSON in the field `key` of its record. */
export interface StoredKey extends Omit<ApiKey, 'id' | 'lastUsedAt'> {
  readonly hash: string
}

/** The time for which an expired key is kept: to tell who has it. */
export const KEPT_MS: number = 30 * 86_400_000

/** The fields of the record of a key. */
export const KEY_FIELDS: readonly string[] = ['key', 'used']

/** The most characters before the random ones, such as `sk_`, and their form. */
export const PREFIX: RegExp = /^[A-Za-z0-9_-]{0,20}$/

/** The form of a key: a prefix, and 32 random bytes in base64url. Other texts are not looked up. */
const FORM = /^[A-Za-z0-9_-]{43,63}$/

/** Returns the SHA-256 of a key, or `undefined` if it cannot be one. */
export async function hashOf(key: string): Promise<string | undefined> {
  if (!FORM.test(key)) return undefined
  return hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key)))
}

/** Returns a new key. */
export function drawKey(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const text = btoa(String.fromCharCode(...bytes))
  return prefix + text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Returns the name of a key. It tells nothing about the key, which has 256 random bits. */
export const idOf = (hash: string): string => `key_${hash.slice(0, 16)}`

/** The form of a name. */
export const ID: RegExp = /^key_[0-9a-f]{16}$/

// `/` where other keys have `:`: a store of several places would take `:tenant=` for the name of one.
export const recordKey = (id: string): string => `api-keys/${id}`
export const listKey = (partition: string): string => `api-keys/of/${partition}`

/** Returns what is stored, or `undefined` if it is no key: a request with it could not be counted. */
export function parseStored(text: string | undefined): StoredKey | undefined {
  const stored = parseJson(text ?? '') as Partial<StoredKey> | null | undefined
  const { hash, subject, createdAt, expiresAt = 0, lifetimeMs = 0, replacedBy = '' } = stored ?? {}
  const isKey =
    typeof hash === 'string' &&
    [createdAt, expiresAt, lifetimeMs].every(Number.isFinite) &&
    typeof replacedBy === 'string' &&
    isOwner(subject)
  return isKey ? (stored as StoredKey) : undefined
}

/** Returns true for a subject with a tenant, whose values can all be counted by. */
const isOwner = (subject: unknown): boolean =>
  typeof subject === 'object' &&
  subject !== null &&
  Object.hasOwn(subject, 'tenant') &&
  Object.values(subject).every(
    (value) => typeof value === 'string' && value !== '' && value.isWellFormed(),
  )

/** Returns the names in the list of a tenant. */
export function parseList(text: string | undefined): string[] {
  const list = parseJson(text ?? '')
  return Array.isArray(list) ? list.filter((id): id is string => ID.test(String(id))) : []
}

/** Returns true if a key is refused at this time. */
export const isExpired = ({ expiresAt = Infinity }: StoredKey, now: number): boolean =>
  now >= expiresAt

/** Returns what is known of a key. */
export function apiKeyOf({ hash, ...stored }: StoredKey, used?: string): ApiKey {
  const lastUsedAt = Number(used)
  return { id: idOf(hash), ...stored, ...(used !== undefined && { lastUsedAt }) }
}

/** Returns the dimensions that a subject has. */
export const dimensionsOf = (subject: Subject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(subject).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )
