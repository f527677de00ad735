import type { Store } from '../../stores/store.ts'
import type { Subject } from '../../subject.ts'
import { writeOperation } from '../../limiter/records.ts'
import { systemClock, type Clock } from '../../clock.ts'
import { ConfigError } from '../../errors.ts'
import { invalidOption } from '../../internal/validation.ts'
import { hex } from '../../internal/hex.ts'
import { randomId } from '../../internal/random-id.ts'

/** The request header that carries a hand-off from middleware to the route handler. */
export const HANDOFF_HEADER = 'x-sluice-handoff'

/** Time after the charge in which a handler accepts the hand-off, in milliseconds. */
const LIFETIME_MS = 4_000
/** The most that the signing machine's clock may be ahead. No hand-off is valid longer than the sum. */
const TOLERANCE_MS = 1_000
/** Time for which a store keeps a hand-off as used: longer than any clock accepts it. */
const USED_MS = 4 * (LIFETIME_MS + TOLERANCE_MS)
/** The most hand-offs that a process remembers. While all of them are valid it accepts no other. */
const CAPACITY = 10_000

/** The request that a hand-off is signed for. */
export interface HandoffTerms {
  readonly method: string
  readonly route: string
  /** The path of the request, in the same form where it is signed and where it is taken. */
  readonly path: string
  readonly subject: Subject
}

/** The request that a hand-off is presented with. */
export interface HandoffClaim extends Omit<HandoffTerms, 'subject'> {
  /**
   * The subject, or a function that finds it. The function is called at most once per hand-off and
   * process, after the signature of everything else has been verified.
   */
  readonly subject: Subject | (() => MaybeSubject | Promise<MaybeSubject>)
}

type MaybeSubject = Subject | null | undefined

/** Options of `createHandoff`. */
export interface HandoffOptions {
  /**
   * Store in which all processes record the hand-offs that were used, or a function that creates it.
   *
   * @default none: each process remembers its own
   */
  readonly singleUse?: Store | (() => Store) | undefined
  /**
   * Called by `take` for a hand-off of the right form and time whose signature does not fit: it was signed
   * with another secret or for another request, or somebody made it up.
   *
   * @default nothing is reported
   */
  readonly onMismatch?: (() => void) | undefined
  /** @default the machine's own */
  readonly clock?: Clock
}

/** Signs and takes hand-offs. */
export interface Handoff {
  sign(terms: HandoffTerms): Promise<string>
  /** Resolves to true if `value` was signed for this request and is used for the first time. */
  take(value: string | null, claim: HandoffClaim): Promise<boolean>
}

/**
 * Signs, with HMAC-SHA-256, that a request has been charged, so that a handler behind middleware does
 * not charge it again. A hand-off can be used once in a process, within five seconds.
 *
 * The subject has a signature of its own. A handler verifies the other one first: finding the subject
 * may mean checking credentials, which a request with a forged hand-off must not get for free.
 *
 * @throws ConfigError `invalid_option` when the secret is shorter than 32 characters, or `singleUse`
 * is neither a store nor a function.
 */
export function createHandoff(
  secret: string,
  { singleUse, onMismatch, clock = systemClock }: HandoffOptions = {},
): Handoff {
  if (typeof secret !== 'string' || secret.length < 32) {
    throw invalidOption(
      'secret',
      `must be a string of at least 32 characters, not ${sizeOf(secret)}`,
    )
  }
  const isFirstInStore = singleUse === undefined ? undefined : usesInStore(singleUse)
  const isFirstHere = usesInProcess()
  const mac = signer(secret)
  const verify = async (text: string, signature: string): Promise<boolean> => {
    const isGenuine = await mac.verify(signature, text)
    if (!isGenuine) onMismatch?.()
    return isGenuine
  }

  return {
    async sign(terms) {
      const stamp = `${clock() + LIFETIME_MS}.${randomId()}`
      const requestMac = await mac.sign(requestText(stamp, terms))
      return `${stamp}.${requestMac}.${await mac.sign(requestText(stamp, terms, terms.subject))}`
    },
    async take(value, claim) {
      const [, stamp, expiry, id = '', requestMac = '', subjectMac = ''] =
        /^((\d{1,15})\.([0-9a-z]{1,13}))\.([0-9a-f]{64})\.([0-9a-f]{64})$/.exec(value ?? '') ?? []
      const [now, expires] = [clock(), Number(expiry)]
      const left = expires - now
      if (!stamp || !(left > 0 && left <= LIFETIME_MS + TOLERANCE_MS)) return false
      if (!(await verify(requestText(stamp, claim), requestMac))) return false
      // Used up before the subject is looked up: one hand-off must not test many credentials.
      if (!isFirstHere(id, expires, now)) return false
      const { subject: source } = claim
      const subject = typeof source === 'function' ? await source() : source
      if (!subject || !(await verify(requestText(stamp, claim, subject), subjectMac))) return false
      return isFirstInStore === undefined || isFirstInStore(id, now)
    },
  }
}

/** Describes a secret that is too short, without showing it. */
const sizeOf = (secret: unknown): string =>
  typeof secret === 'string' ? `${secret.length}` : typeof secret

/** Remembers ids until they expire, at most `CAPACITY`. Returns true for the first use of one. */
function usesInProcess(): (id: string, expires: number, now: number) => boolean {
  const used = new Map<string, number>()
  return (id, expires, now) => {
    // Ids expire in about the order in which they came.
    for (const [other, end] of used) {
      if (end > now) break
      used.delete(other)
    }
    if (used.has(id) || used.size >= CAPACITY) return false
    used.set(id, expires)
    return true
  }
}

/** Records ids in a store, by one conditional write each. Resolves to true for the first use of one. */
function usesInStore(source: Store | (() => Store)): (id: string, now: number) => Promise<boolean> {
  if (typeof source !== 'function' && typeof source?.run !== 'function') {
    const message = `must be a store or a function that creates one, not ${typeof source}`
    throw invalidOption('singleUse', message)
  }
  let store: Store | undefined
  return async (id, now) => {
    store ??= typeof source === 'function' ? source() : source
    const key = `handoff:${id}`
    const use = { key, set: { used: '1' }, ttlMs: USED_MS }
    try {
      const condition = { key, field: 'used', is: undefined }
      return await store.run(
        writeOperation({ writes: [use], condition, now, clockIsInjected: false }),
      )
    } catch (error) {
      if (error instanceof ConfigError) throw error
      // It may have been used: the handler charges.
      return false
    }
  }
}

/** The text that is signed; with `subject` for the subject's signature, else for the request's. */
function requestText(
  stamp: string,
  { method, route, path }: Omit<HandoffTerms, 'subject'>,
  subject?: Subject,
): string {
  // JSON keeps the parts apart, whatever is in them. Sorted, because a resolver may build its object
  // in any order. The plan identifies nobody.
  const dimensions =
    subject &&
    Object.entries(subject)
      .filter(([name, value]) => value !== undefined && name !== 'route' && name !== 'plan')
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([stamp, method, route, path, dimensions])
}

/** Signs texts with HMAC-SHA-256, in hexadecimal digits, and verifies them. */
function signer(secret: string): {
  sign(text: string): Promise<string>
  verify(mac: string, text: string): Promise<boolean>
} {
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
    async sign(text) {
      return hex(await crypto.subtle.sign('HMAC', await key(), encoder.encode(text)))
    },
    async verify(mac, text) {
      const bytes = Uint8Array.from(mac.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
      return crypto.subtle.verify('HMAC', await key(), bytes, encoder.encode(text))
    },
  }
}
