import type { Arg, Command } from '../engines/engine.ts'
import { HttpError } from './http-error.ts'

/**
 * Reads a command from a path: `/set/key/value?EX=100`, or `POST /set/key?EX=100` with the value in
 * the body. The body goes between the arguments of the path and those of the query.
 *
 * @throws HttpError 400 when the path is not valid percent-encoded UTF-8.
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
