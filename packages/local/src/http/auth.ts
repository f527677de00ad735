import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { HttpError } from './http-error.ts'

/**
 * Creates a check of `Authorization: Bearer …` or, without that header, `?_token=…`. It takes
 * constant time.
 *
 * @throws HttpError 401, from the returned check.
 */
export function bearerAuth(
  token: string,
): (request: IncomingMessage, query: URLSearchParams) => void {
  const expected = digest(token)
  return (request, query) => {
    const bearer = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
    // `timingSafeEqual` needs equal lengths, and digests do not reveal the token's length.
    if (!timingSafeEqual(digest(bearer ?? query.get('_token') ?? ''), expected)) {
      throw new HttpError(401, 'WRONGPASS invalid or missing auth token')
    }
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
