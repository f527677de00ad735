import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { HttpError } from './http-error.ts'

const LOOPBACK = ['localhost', '127.0.0.1', '::1']
const EVERY_ADDRESS = new Set(['0.0.0.0', '::'])
const OWN_SITE = new Set([undefined, 'none', 'same-origin'])

/**
 * A check against pages that make a browser send commands here.
 *
 * A page may send to any address that its visitor reaches, so `Origin` and `Sec-Fetch-Site` must not
 * tell of another one. Under a name that its own DNS server points here it is no other site any more
 * (DNS rebinding), so `Host` must be a name of this server.
 *
 * @throws HttpError 403, from the check it returns.
 */
export function originCheck(
  listenHost: string,
  allowedHosts: readonly string[],
): (request: IncomingMessage, query: URLSearchParams) => void {
  const names = new Set(
    [...LOOPBACK, listenHost, ...allowedHosts].map((name) => name.toLowerCase()),
  )
  const takesAddresses = EVERY_ADDRESS.has(listenHost)
  return ({ headers }, query) => {
    const name = hostName(headers.host ?? '')
    // Rebinding takes a name: who sends an address has really called that address.
    if (!names.has(name) && !(takesAddresses && isIP(name) !== 0)) {
      throw new HttpError(
        403,
        'ERR the Host header must name this server: call it by localhost or 127.0.0.1, or add ' +
          'the name to the option "allowedHosts" (--allow-host on the command line)',
      )
    }
    const { origin } = headers
    const site = headers['sec-fetch-site']
    if (
      (origin !== undefined && origin !== `http://${headers.host}`) ||
      !OWN_SITE.has(text(site))
    ) {
      throw new HttpError(
        403,
        'ERR a request from a page of another site is refused: send it from a server, as an app ' +
          'sends it to Upstash',
      )
    }
    const isBrowser =
      origin !== undefined || site !== undefined || headers['user-agent']?.startsWith('Mozilla/')
    if (isBrowser && query.has('_token')) {
      throw new HttpError(
        403,
        'ERR a browser may not send the token in the query, where links and images can: send ' +
          '"Authorization: Bearer" instead',
      )
    }
  }
}

/** The lower-case host of a `Host` header, without port and brackets; empty if it is malformed. */
function hostName(host: string): string {
  const [, address, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d+)?$/i.exec(host) ?? []
  return (address ?? name ?? '').toLowerCase()
}

const text = (value: string | string[] | undefined): string | undefined => value?.toString()
