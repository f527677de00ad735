import type { ResolvedSubject } from '../http/guard/subject-resolver.ts'
import { canonicalAddress } from './ip-address.ts'
import { assertKnownOptions, invalidOption } from '../internal/validation.ts'

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
  /**
   * Set it to `process.env.NODE_ENV === 'development'`, because no platform sets the header while you
   * develop. If true, a request to this machine (`localhost`, `127.0.0.1`, …) without the header has the
   * address `127.0.0.1`. Any other request without it has no address still. @default false
   */
  readonly development?: boolean | undefined
}

/**
 * Creates a resolver of the dimension `address`: the client's network address. An IPv6 address counts by
 * its /56, because one customer can use all of it; an IPv4 address mapped into IPv6 counts as IPv4.
 * Without a valid address there is no subject, which `console.warn` reports once.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * addressSubject({ from: 'cloudflare' })
 */
export function addressSubject(
  options: AddressSubjectOptions,
): (request: Request) => ResolvedSubject {
  assertKnownOptions('addressSubject', options, ['from', 'ipv6Prefix', 'development'])
  const { from, ipv6Prefix = 56, development = false } = options
  const { read, header } = addressSource(from)
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 32 || ipv6Prefix > 64) {
    const message = 'must be a whole number of bits from 32 to 64, such as 56'
    throw invalidOption('addressSubject.ipv6Prefix', message, ipv6Prefix)
  }
  if (typeof development !== 'boolean') {
    const message = 'must be true or false, such as process.env.NODE_ENV === "development"'
    throw invalidOption('addressSubject.development', message)
  }
  let isReported = false
  return (request) => {
    const text = read(request)
    const address = text ? canonicalAddress(text.trim(), ipv6Prefix) : undefined
    if (address !== undefined) return { address }
    const isLocal = development && !text && isAddressedToLocalhost(request)
    if (!isReported) {
      isReported = true
      console.warn(missingAddress(header, from, isLocal))
    }
    return isLocal ? { address: '127.0.0.1' } : null
  }
}

/** Returns true if a request is addressed to the machine that serves it, as in development. */
function isAddressedToLocalhost({ url }: Request): boolean {
  return /^(.+\.)?localhost$|^127\.|^0\.0\.0\.0$|^\[::1?\]$/.test(new URL(url).hostname)
}

/** Says to the developer, not to the client, which header is missing, and what to do. */
function missingAddress(
  header: string,
  from: AddressSubjectOptions['from'],
  isLocal: boolean,
): string {
  const missing = `Sluice: addressSubject: a request has no address in ${header}, which "from" = ${JSON.stringify(from)} reads. `
  if (isLocal) return `${missing}It counts as 127.0.0.1, because "development" is true.`
  return (
    `${missing}So it has no subject. Set "from" to what is in front of the app, and while you develop, ` +
    'where nothing sets the header, set "development" to process.env.NODE_ENV === "development": it is ' +
    'for requests to localhost.'
  )
}

/** The source of an address: reads its text from a request, and names the header for the developer. */
interface AddressSource {
  readonly header: string
  readonly read: (request: Request) => string | null | undefined
}

function addressSource(from: AddressSubjectOptions['from']): AddressSource {
  if (from === 'cloudflare') return { header: 'CF-Connecting-IP', read: cloudflareReader() }
  if (from === 'vercel') {
    return {
      header: 'X-Vercel-Forwarded-For or X-Real-IP',
      read: ({ headers }) => headers.get('x-vercel-forwarded-for') ?? headers.get('x-real-ip'),
    }
  }
  if (Number.isInteger(from) && from >= 1 && from <= 10) {
    // The outermost trusted proxy wrote the entry at this position from the right.
    return {
      header: `X-Forwarded-For (entry ${from} from the right)`,
      read: ({ headers }) => headers.get('x-forwarded-for')?.split(',').at(-from),
    }
  }
  throw invalidOption(
    'addressSubject.from',
    'must be "cloudflare", "vercel", or a number of trusted proxies from 1 to 10',
    from,
  )
}

/** Reads `CF-Connecting-IP`. Warns once if it did not come from Cloudflare. */
function cloudflareReader(): AddressSource['read'] {
  let isWarned = false
  return (request) => {
    const text = request.headers.get('cf-connecting-ip')
    // Cloudflare sets `cf` in a Worker, and CF-Ray in a request to a server.
    const isProxied = (request as { cf?: unknown }).cf || request.headers.has('cf-ray')
    if (text !== null && !isProxied && !isWarned) {
      isWarned = true
      console.warn(
        'Sluice: addressSubject.from is "cloudflare", but a request has CF-Connecting-IP and no CF-Ray: ' +
          'it has not been through Cloudflare, and its sender may write any address. Block requests ' +
          'that bypass Cloudflare. If the app is not behind Cloudflare, set "from" to "vercel" or ' +
          'a number of proxies.',
      )
    }
    return text
  }
}
