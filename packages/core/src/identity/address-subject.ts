import type { ResolvedSubject } from '../http/subject-resolver.ts'
import { canonicalAddress } from './ip-address.ts'
import { ConfigError } from '../errors.ts'
import { assertKnownOptions } from '../internal/validation.ts'

/** Options of `addressSubject`. */
export interface AddressSubjectOptions {
  /**
   * Who tells the client's address:
   *
   * - `cloudflare`: `CF-Connecting-IP`;
   * - `vercel`: `X-Vercel-Forwarded-For`, else `X-Real-IP`;
   * - a number of trusted proxies: that many entries from the right of `X-Forwarded-For`. With 1, the
   *   last entry counts, which the proxy in front of the app wrote; what stands left of it is the
   *   client's own claim.
   */
  readonly from: 'cloudflare' | 'vercel' | number
  /**
   * The bits of an IPv6 address that are one client's, from 32 to 64. Providers often give a customer a
   * /56 to choose addresses from, some a /48, some a /64. @default 56
   */
  readonly ipv6Prefix?: number
}

/**
 * Takes the dimension `address` from the client's network address: IPv6 by its /56, because one customer
 * has all of that to choose from; an IPv4 address mapped into IPv6 as the IPv4 address it is. Finds nobody
 * where there is no valid address.
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
    // The outermost trusted proxy wrote the entry that is as many from the right.
    return ({ headers }) => headers.get('x-forwarded-for')?.split(',').at(-from)
  }
  throw new ConfigError(
    'invalid_option',
    'addressSubject.from',
    'must be "cloudflare", "vercel", or a number of trusted proxies from 1 to 10',
  )
}

/** Reads `CF-Connecting-IP`. Warns of the first one that Cloudflare has not written. */
function cloudflareSource(): AddressSource {
  let isWarned = false
  return (request) => {
    const text = request.headers.get('cf-connecting-ip')
    // Cloudflare sets `cf` in a Worker, and CF-Ray in what it passes on to a server.
    const isProxied = (request as { cf?: unknown }).cf || request.headers.has('cf-ray')
    if (text !== null && !isProxied && !isWarned) {
      isWarned = true
      console.warn(
        'addressSubject.from is "cloudflare", but a request has CF-Connecting-IP and no CF-Ray: ' +
          'it has not been through Cloudflare, and its sender may write any address. Let nobody ' +
          'reach the app around Cloudflare; if the app is not behind Cloudflare, set "from" to ' +
          '"vercel" or a number of proxies.',
      )
    }
    return text
  }
}
