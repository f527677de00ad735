import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { HttpError } from './http-error.ts'

/**
 * A check for `Authorization: Bearer …`, or `?_token=…` in its absence, in constant time.
 *
 * @throws HttpError 401, from the check it returns.
 */
export function bearerAuth(
  token: string,
): (request: IncomingMessage, query: URLSearchParams) => void {
  const expected = digest(token)
  return (request, query) => {
    const given = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
    // Digests have one length, which `timingSafeEqual` needs, and tell nothing about the token's.
    if (!timingSafeEqual(digest(given ?? query.get('_token') ?? ''), expected)) {
      throw new HttpError(401, 'WRONGPASS invalid or missing auth token')
    }
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
