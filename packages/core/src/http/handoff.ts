import type { Subject } from '../subject.ts'
import { ConfigError } from '../errors.ts'

/** The request header in which middleware tells the route handler that a request has been charged. */
export const HANDOFF_HEADER = 'x-sluice-handoff'

/** How long after the charge the handler may still take it for granted, in milliseconds. */
const LIFETIME_MS = 10_000

/** What a hand-off is bound to: one for another method, route or subject is worth nothing. */
export interface HandoffTerms {
  readonly method: string
  readonly route: string
  readonly subject: Subject
}

/** Signs and verifies hand-offs. */
export interface Handoff {
  sign(terms: HandoffTerms): Promise<string>
  verify(value: string | null, terms: HandoffTerms): Promise<boolean>
}

/**
 * Signs, with HMAC-SHA-256, that a request has been charged, so that a handler behind middleware does
 * not charge it again. The value never leaves the server, and is good for ten seconds.
 *
 * @throws ConfigError `invalid_option` when the secret is shorter than 32 characters.
 */
export function createHandoff(secret: string, now: () => number = Date.now): Handoff {
  if (typeof secret !== 'string' || secret.length < 32) {
    throw new ConfigError('invalid_option', 'secret', 'must be a string of at least 32 characters')
  }
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
      const expires = now() + LIFETIME_MS
      const data = encoder.encode(signed(expires, terms))
      const mac = new Uint8Array(await crypto.subtle.sign('HMAC', await key(), data))
      return `${expires}.${toHex(mac)}`
    },
    async verify(value, terms) {
      const match = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(value ?? '')
      const [expires, mac] = [Number(match?.[1]), match?.[2]]
      const left = expires - now()
      // The machine that signed may be a little ahead.
      if (mac === undefined || !(left > 0 && left <= 2 * LIFETIME_MS)) return false
      const data = encoder.encode(signed(expires, terms))
      return crypto.subtle.verify('HMAC', await key(), fromHex(mac), data)
    },
  }
}

// JSON keeps the parts apart whatever they hold; sorted, so that a resolver may build its object in
// any order. The plan is no part of who it is.
function signed(expires: number, { method, route, subject }: HandoffTerms): string {
  const who = Object.entries(subject)
    .filter(([name, value]) => value !== undefined && name !== 'route' && name !== 'plan')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([expires, method, route, who])
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
