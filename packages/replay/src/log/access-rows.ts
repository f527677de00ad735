import type { Readable } from 'node:stream'
import type { Fault, Row } from './row.ts'
import { linesOf } from './lines.ts'

/** The common log format, and the combined one, which has more at its end. */
const COMMON =
  /^(\S+) \S+ (\S+) \[([^\]]+)\] "(?:([A-Z]+) ([^\s"]+)[^"]*|[^"]*)" (\d{3}) (\d+|-)(?:\s|$)/

/** Returns true if the line is one of an access log. */
export const isAccessLine = (line: string): boolean => COMMON.test(line)

/**
 * Reads an access log. Its columns are `ip`, `user`, `time`, `method`, `route` (the path without its query),
 * `status` and `bytes`. The `tenant` is the user, or the address of a request without one.
 */
export async function* accessRows(stream: Readable): AsyncGenerator<Row | Fault> {
  for await (const item of linesOf(stream)) {
    if ('reason' in item) {
      yield item
      continue
    }
    const { line, text } = item
    const match = COMMON.exec(text)
    if (match === null) {
      yield { line, reason: 'the line is not in the common or combined log format' }
      continue
    }
    const [, ip, name, time, method, path, status, bytes] = match
    const user = name === '-' ? undefined : name
    const route = path?.split('?')[0]
    yield { line, values: { ip, user, tenant: user ?? ip, time, method, route, status, bytes } }
  }
}
