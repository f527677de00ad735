import type { Row, Rows, TextChunks } from './row.ts'
import { lineRows } from './lines.ts'

/** The common log format, and the combined one, which has more at its end. */
const COMMON =
  /^(\S+) \S+ (\S+) \[([^\]]+)\] "(?:([A-Z]+) ([^\s"]+)[^"]*|[^"]*)" (\d{3}) (\d+|-)(?:\s|$)/

/**
 * A line of an Application Load Balancer: type, time of the answer, balancer, client, target, three durations, two
 * statuses, two sizes, the request, and, after parts that are not read, the time of the request.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html
 */
const ALB =
  /^(?:https?|h2|grpcs|wss?) (\S+) \S+ (\S+):\d+ \S+ [\d.-]+ [\d.-]+ [\d.-]+ (\d{3}|-) \S+ \d+ (\d+) "(\S+) (\S+)[^"]*"(?: "[^"]*" \S+ \S+ \S+ "[^"]*" "[^"]*" "[^"]*" \S+ (\d\S+))?/

/** Returns true if the line is one of an access log. */
export const isAccessLine = (line: string): boolean => COMMON.test(line)

/** Returns true if the line is one of an Application Load Balancer. */
export const isAlbLine = (line: string): boolean => ALB.test(line)

/** Reads lines that match a pattern, by its groups. */
const rowsBy =
  (pattern: RegExp, reason: string, valuesOf: (match: RegExpExecArray) => Row['values']) =>
  (chunks: TextChunks): Rows =>
    lineRows(chunks, (text) => {
      const match = pattern.exec(text)
      return match ? { values: valuesOf(match) } : { reason }
    })

/**
 * Reads an access log. Its columns are `ip`, `user`, `time`, `method`, `route` (the path without its query),
 * `status` and `bytes`. The `tenant` is the user, or the address of a request without one.
 */
export const accessRows: (chunks: TextChunks) => Rows = rowsBy(
  COMMON,
  'the line is not in the common or combined log format',
  ([, ip, name, time, method, path, status, bytes]) => {
    const user = name === '-' ? undefined : name
    const route = path?.split('?')[0]
    return { ip, user, tenant: user ?? ip, time, method, route, status, bytes }
  },
)

/** Reads the access log of an Application Load Balancer, as `accessRows` does. It has no users. */
export const albRows: (chunks: TextChunks) => Rows = rowsBy(
  ALB,
  'the line is not one of an Application Load Balancer',
  ([, answered, ip, status, bytes, method, address = '', time = answered]) => {
    const route = URL.canParse(address) ? new URL(address).pathname : address
    return { ip, tenant: ip, time, method, route, status, bytes }
  },
)
