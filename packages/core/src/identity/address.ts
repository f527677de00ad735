import type { ResolvedSubject } from '../http/subject-resolver.ts'
import { canonicalAddress } from '../http/address.ts'
import { ConfigError } from '../errors.ts'
import { knownOptions } from '../validate.ts'

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
}

const PLATFORM_HEADERS = {
  cloudflare: ['cf-connecting-ip'],
  vercel: ['x-vercel-forwarded-for', 'x-real-ip'],
} as const

/**
 * Takes the dimension `address` from the client's network address: IPv6 by its /64, because a client
 * has at least that many to choose from; an IPv4 address mapped into IPv6 as the IPv4 address it is.
 * Finds nobody where there is no valid address.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * addressSubject({ from: 'cloudflare' })
 */
export function addressSubject(
  options: AddressSubjectOptions,
): (request: Request) => ResolvedSubject {
  knownOptions('addressSubject', options, ['from'])
  const { from } = options
  if (typeof from === 'number') {
    if (Number.isInteger(from) && from >= 1 && from <= 10)
      return (request) => found(hop(request, from))
  } else if (Object.hasOwn(PLATFORM_HEADERS, from)) {
    return (request) => {
      const name = PLATFORM_HEADERS[from].find((header) => request.headers.has(header))
      return found(name && request.headers.get(name))
    }
  }
  throw new ConfigError(
    'invalid_option',
    'addressSubject.from',
    'must be "cloudflare", "vercel", or a number of trusted proxies from 1 to 10',
  )
}

/** What the outermost trusted proxy wrote: its entry is `proxies` from the right. */
function hop(request: Request, proxies: number): string | undefined {
  const entries = request.headers.get('x-forwarded-for')?.split(',') ?? []
  return entries.at(-proxies)
}

function found(text: string | null | undefined): ResolvedSubject {
  const address = text ? canonicalAddress(text.trim()) : undefined
  return address === undefined ? null : { address }
}
