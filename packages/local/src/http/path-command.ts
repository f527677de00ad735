import type { Arg, Command } from '../engines/engine.ts'
import { HttpError } from './http-error.ts'

/**
 * A command spelled as a path: `/set/key/value?EX=100`, or `POST /set/key?EX=100` with the value
 * as the body, which goes between the path's arguments and the query's.
 *
 * @throws HttpError 400 when the path is not well-formed percent-encoded UTF-8.
 */
export function commandFromPath(url: URL, body: Buffer): Command {
  const [name, ...args] = url.pathname.slice(1).split('/').map(decode)
  if (!name) throw new HttpError(400, 'ERR empty command')
  const trailing: Arg[] = body.length > 0 ? [body] : []
  for (const [key, value] of url.searchParams) {
    if (key === '_token') continue
    trailing.push(key)
    if (value !== '') trailing.push(value)
  }
  return [name, ...args, ...trailing]
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new HttpError(400, 'ERR malformed percent-encoding in path')
  }
}
