import type { Readable } from 'node:stream'
import type { Rows } from './row.ts'
import { lineRows } from './lines.ts'

/**
 * A line of an Application Load Balancer: type, time of the answer, balancer, client, target, three durations, two
 * statuses, two sizes, the request, and, after what is not read, the time of the request.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html
 */
const ALB =
  /^(?:https?|h2|grpcs|wss?) (\S+) \S+ (\S+):\d+ \S+ [\d.-]+ [\d.-]+ [\d.-]+ (\d{3}|-) \S+ \d+ (\d+) "(\S+) (\S+)[^"]*"(?: "[^"]*" \S+ \S+ \S+ "[^"]*" "[^"]*" "[^"]*" \S+ (\d\S+))?/

/** Returns true if the line is one of an Application Load Balancer. */
export const isAlbLine = (line: string): boolean => ALB.test(line)

/**
 * Reads the access log of an Application Load Balancer. Its columns are `ip`, `time`, `method`, `route` (the path
 * without its query), `status` and `bytes`. The `tenant` is the address.
 */
export const albRows = (stream: Readable): Rows =>
  lineRows(stream, (text) => {
    const match = ALB.exec(text)
    if (match === null) return { reason: 'the line is not one of an Application Load Balancer' }
    const [, answered, ip, status, bytes, method, address = '', time = answered] = match
    const route = URL.canParse(address) ? new URL(address).pathname : address
    return { values: { ip, tenant: ip, time, method, route, status, bytes } }
  })
