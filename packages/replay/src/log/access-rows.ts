import type { Readable } from 'node:stream'
import type { Rows } from './row.ts'
import { lineRows } from './lines.ts'

/** The common log format, and the combined one, which has more at its end. */
const COMMON =
  /^(\S+) \S+ (\S+) \[([^\]]+)\] "(?:([A-Z]+) ([^\s"]+)[^"]*|[^"]*)" (\d{3}) (\d+|-)(?:\s|$)/

/** Returns true if the line is one of an access log. */
export const isAccessLine = (line: string): boolean => COMMON.test(line)

/**
 * Reads an access log. Its columns are `ip`, `user`, `time`, `method`, `route` (the path without its query),
 * `status` and `bytes`. The `tenant` is the user, or the address of a request without one.
 */
export const accessRows = (stream: Readable): Rows =>
  lineRows(stream, (text) => {
    const match = COMMON.exec(text)
    if (match === null) return { reason: 'the line is not in the common or combined log format' }
    const [, ip, name, time, method, path, status, bytes] = match
    const user = name === '-' ? undefined : name
    const route = path?.split('?')[0]
    return { values: { ip, user, tenant: user ?? ip, time, method, route, status, bytes } }
  })
