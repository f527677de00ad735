import type { Store } from '../stores/store.ts'
import { writeOperation } from '../limiter/records.ts'
import type { Subject } from '../subject.ts'
import { systemClock, type Clock } from '../clock.ts'
import { ConfigError } from '../errors.ts'
import { randomId } from '../internal/random-id.ts'

/** The request header in which middleware tells the route handler that a request has been charged. */
export const HANDOFF_HEADER = 'x-sluice-handoff'

/** Time after the charge in which the handler may take it for granted, in milliseconds. */
const LIFETIME_MS = 4_000
/** Lead of the signing machine's clock that is borne. No hand-off is good for longer than both. */
const TOLERANCE_MS = 1_000
/** Time for which a store keeps a hand-off as used: longer than any clock takes it for good. */
const USED_MS = 4 * (LIFETIME_MS + TOLERANCE_MS)
/** The hand-offs that a process remembers. While all of these may come again it takes no other. */
const CAPACITY = 10_000

/** Terms of a hand-off: for another method, route, path or subject it is worth nothing. */
export interface HandoffTerms {
  readonly method: string
  readonly route: string
  /** The path of the request, in the same form where it is signed and where it is taken. */
  readonly path: string
  readonly subject: Subject
}

/** Options of `createHandoff`. */
export interface HandoffOptions {
  /**
   * Store in which all processes keep the hand-offs that were used, or a function that makes it.
   *
   * @default none: each process remembers its own
   */
  readonly store?: Store | (() => Store) | undefined
  /** @default the machine's own */
  readonly clock?: Clock
}

/** Signs and takes hand-offs. */
export interface Handoff {
  sign(terms: HandoffTerms): Promise<string>
  /** Returns true if `value` was signed for these terms and is used for the first time. */
  take(value: string | null, terms: HandoffTerms): Promise<boolean>
}

/**
 * Signs, with HMAC-SHA-256, that a request has been charged, so that a handler behind middleware does
 * not charge it again. The value is good for one use in a process, within five seconds.
 *
 * @throws ConfigError `invalid_option` when the secret is shorter than 32 characters, or `store` is
 * neither a store nor a function.
 */
export function createHandoff(
  secret: string,
  { store, clock = systemClock }: HandoffOptions = {},
): Handoff {
  if (typeof secret !== 'string' || secret.length < 32) {
    throw new ConfigError('invalid_option', 'secret', 'must be a string of at least 32 characters')
  }
  const firstIn = store === undefined ? undefined : firstUseIn(store)
  const isFirst = firstUse()
  const encoder = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  let imported: CryptoKey | undefined
  // The key is kept, never the promise of it: that would belong to one request on Cloudflare.
  const key = async (): Promise<CryptoKey> =>
    (imported ??= await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, [
      'sign',
      'verify',
    ]))

  return {
    async sign(terms) {
      const stamp = `${clock() + LIFETIME_MS}.${randomId()}`
      const data = encoder.encode(messageOf(stamp, terms))
      const mac = new Uint8Array(await crypto.subtle.sign('HMAC', await key(), data))
      return `${stamp}.${toHex(mac)}`
    },
    async take(value, terms) {
      const match = /^((\d{1,15})\.([0-9a-z]{1,13}))\.([0-9a-f]{64})$/.exec(value ?? '')
      const [, stamp, expiry, id, mac] = match ?? []
      const [now, expires] = [clock(), Number(expiry)]
      const left = expires - now
      if (!stamp || !id || !mac || !(left > 0 && left <= LIFETIME_MS + TOLERANCE_MS)) return false
      const data = encoder.encode(messageOf(stamp, terms))
      if (!(await crypto.subtle.verify('HMAC', await key(), fromHex(mac), data))) return false
      return isFirst(id, expires, now) && (firstIn === undefined || firstIn(id, now))
    },
  }
}

/** Remembers ids until they expire, at most `CAPACITY`. */
function firstUse(): (id: string, expires: number, now: number) => boolean {
  const used = new Map<string, number>()
  return (id, expires, now) => {
    // They expire in about the order in which they came.
    for (const [other, end] of used) {
      if (end > now) break
      used.delete(other)
    }
    if (used.has(id) || used.size >= CAPACITY) return false
    used.set(id, expires)
    return true
  }
}

/** Keeps ids in a store, by one conditional write each. */
function firstUseIn(source: Store | (() => Store)): (id: string, now: number) => Promise<boolean> {
  if (typeof source !== 'function' && typeof source?.run !== 'function') {
    const must = 'must be a store or a function that makes one'
    throw new ConfigError('invalid_option', 'singleUse', must)
  }
  let store: Store | undefined
  return async (id, now) => {
    store ??= typeof source === 'function' ? source() : source
    const key = `handoff:${id}`
    const use = { key, set: { used: '1' }, ttlMs: USED_MS }
    try {
      const condition = { key, field: 'used', is: undefined }
      return await store.run(writeOperation({ writes: [use], condition, now }))
    } catch {
      // Where nothing tells whether it is the first use, the handler charges.
      return false
    }
  }
}

// JSON keeps the parts apart whatever they hold; sorted, so that a resolver may build its object in
// any order. The plan is no part of who it is.
function messageOf(stamp: string, { method, route, path, subject }: HandoffTerms): string {
  const who = Object.entries(subject)
    .filter(([name, value]) => value !== undefined && name !== 'route' && name !== 'plan')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([stamp, method, route, path, who])
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
