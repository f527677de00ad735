import type { ResolvedSubject } from '../http/subject-resolver.ts'
import { canonicalAddress } from './ip-address.ts'
import { ConfigError } from '../errors.ts'
import { assertKnownOptions } from '../internal/validation.ts'

/** Options of `addressSubject`. */
export interface AddressSubjectOptions {
  /**
   * The source of the client's address:
   *
   * - `cloudflare`: `CF-Connecting-IP`;
   * - `vercel`: `X-Vercel-Forwarded-For`, else `X-Real-IP`;
   * - a number of trusted proxies: the entry at that position from the right of `X-Forwarded-For`. With
   *   1, that is the last entry, written by the proxy in front of the app. A client can write anything
   *   to the left of it.
   */
  readonly from: 'cloudflare' | 'vercel' | number
  /**
   * The leading bits of an IPv6 address that identify a client, from 32 to 64. Providers often give a
   * customer a /56, some a /48, some a /64. @default 56
   */
  readonly ipv6Prefix?: number
}

/**
 * Creates a resolver of the dimension `address`: the client's network address. An IPv6 address counts by
 * its /56, because one customer can use all of it; an IPv4 address mapped into IPv6 counts as IPv4.
 * Without a valid address there is no subject.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * addressSubject({ from: 'cloudflare' })
 */
export function addressSubject(
  options: AddressSubjectOptions,
): (request: Request) => ResolvedSubject {
  assertKnownOptions('addressSubject', options, ['from', 'ipv6Prefix'])
  const { from, ipv6Prefix = 56 } = options
  const read = addressSource(from)
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 32 || ipv6Prefix > 64) {
    const message = 'must be a whole number of bits from 32 to 64, such as 56'
    throw new ConfigError('invalid_option', 'addressSubject.ipv6Prefix', message)
  }
  return (request) => {
    const text = read(request)
    const address = text ? canonicalAddress(text.trim(), ipv6Prefix) : undefined
    return address === undefined ? null : { address }
  }
}

/** Reads the text of an address from a request. */
type AddressSource = (request: Request) => string | null | undefined

function addressSource(from: AddressSubjectOptions['from']): AddressSource {
  if (from === 'cloudflare') return cloudflareSource()
  if (from === 'vercel') {
    return ({ headers }) => headers.get('x-vercel-forwarded-for') ?? headers.get('x-real-ip')
  }
  if (Number.isInteger(from) && from >= 1 && from <= 10) {
    // The outermost trusted proxy wrote the entry at this position from the right.
    return ({ headers }) => headers.get('x-forwarded-for')?.split(',').at(-from)
  }
  throw new ConfigError(
    'invalid_option',
    'addressSubject.from',
    'must be "cloudflare", "vercel", or a number of trusted proxies from 1 to 10',
  )
}

/** Reads `CF-Connecting-IP`. Warns once if it did not come from Cloudflare. */
function cloudflareSource(): AddressSource {
  let isWarned = false
  return (request) => {
    const text = request.headers.get('cf-connecting-ip')
    // Cloudflare sets `cf` in a Worker, and CF-Ray in a request to a server.
    const isProxied = (request as { cf?: unknown }).cf || request.headers.has('cf-ray')
    if (text !== null && !isProxied && !isWarned) {
      isWarned = true
      console.warn(
        'addressSubject.from is "cloudflare", but a request has CF-Connecting-IP and no CF-Ray: ' +
          'it has not been through Cloudflare, and its sender may write any address. Block requests ' +
          'that bypass Cloudflare. If the app is not behind Cloudflare, set "from" to "vercel" or ' +
          'a number of proxies.',
      )
    }
    return text
  }
}
