import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { HttpError } from './http-error.ts'

const LOOPBACK = ['localhost', '127.0.0.1', '::1']
const EVERY_ADDRESS = new Set(['0.0.0.0', '::'])
const SAME_SITE = new Set([undefined, 'none', 'same-origin'])

/**
 * Creates a check that refuses requests of web pages.
 *
 * A page can make a browser send requests to any address that the browser reaches. `Origin` and
 * `Sec-Fetch-Site` show such a request. With DNS rebinding they do not: the page's own name points
 * to this server. So `Host` must be a name of this server, too.
 *
 * @throws HttpError 403, from the returned check.
 */
export function originCheck(
  listenHost: string,
  allowedHosts: readonly string[],
): (request: IncomingMessage, query: URLSearchParams) => void {
  const names = new Set(
    [...LOOPBACK, listenHost, ...allowedHosts].map((name) => name.toLowerCase()),
  )
  const acceptsAddresses = EVERY_ADDRESS.has(listenHost)
  return ({ headers }, query) => {
    const name = hostName(headers.host ?? '')
    // DNS rebinding needs a name, so an IP address is safe.
    if (!names.has(name) && !(acceptsAddresses && isIP(name) !== 0)) {
      throw new HttpError(
        403,
        'ERR the Host header must name this server: use localhost or 127.0.0.1, or add the name ' +
          'to the option "allowedHosts" (--allow-host on the command line)',
      )
    }
    const { origin } = headers
    const site = headers['sec-fetch-site']
    if (
      (origin !== undefined && origin !== `http://${headers.host}`) ||
      !SAME_SITE.has(site?.toString())
    ) {
      throw new HttpError(
        403,
        'ERR requests from a page of another site are refused: send them from a server, as to ' +
          'Upstash',
      )
    }
    const isBrowser =
      origin !== undefined || site !== undefined || headers['user-agent']?.startsWith('Mozilla/')
    if (isBrowser && query.has('_token')) {
      throw new HttpError(
        403,
        'ERR a browser must not send the token in the query, because links and images could: ' +
          'send "Authorization: Bearer" instead',
      )
    }
  }
}

/** Returns the lower-case host of a `Host` header, without port and brackets; '' if malformed. */
function hostName(host: string): string {
  const [, address, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d+)?$/i.exec(host) ?? []
  return (address ?? name ?? '').toLowerCase()
}
