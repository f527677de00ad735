import type { Call } from '@sluice/replay/parse'
import type { Arrival, Traffic } from './arrivals.ts'
import { refused, withIssues } from './issue.ts'

/** Returns the requests of a log, at their times. Their tokens and dollars are the real use of the calls. */
export async function logTraffic(text: string, most: number): Promise<Traffic> {
  // Only a page that reads a log loads its parsers.
  const { parseLog } = await import('@sluice/replay/parse')
  const log = await withIssues('traffic.log', {}, () => parseLog(text))
  const calls: Call[] = []
  for await (const call of log.calls()) {
    if (calls.push(call) > most)
      throw refused('traffic.log', 'log', `must have at most ${most} lines`)
  }
  const { count, first } = log.facts.malformed
  const [fault] = first
  if (fault) {
    const others = count > 1 ? `; ${count} lines cannot be read` : ''
    throw refused('traffic.log', 'log', `line ${fault.line}: ${fault.reason}${others}`)
  }
  const startMs = calls[0]?.at
  if (startMs === undefined) throw refused('traffic.log', 'log', 'has no requests')
  return {
    startMs,
    arrivals: calls.map((call) => arrivalOf(call, startMs)),
    retryIn: () => undefined,
  }
}

function arrivalOf({ at, subject, units }: Call, startMs: number): Arrival {
  const { token, usd } = units
  const used = { ...(token !== undefined && { token }), ...(usd !== undefined && { usd }) }
  return { at: at - startMs, tenant: subject.tenant, used }
}
