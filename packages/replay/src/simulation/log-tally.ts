import type { Call } from '../call.ts'
import type { LogReport } from './report-types.ts'

/** Sums up the calls of a log. */
export interface LogTally {
  add(call: Call, usd: number | undefined): void
  /** Returns true if a tenant has a call. */
  has(tenant: string): boolean
  /** Returns the time between the first call and the last. */
  spanMs(): number
  read(): LogReport
}

/** Creates empty sums. */
export function createLogTally(): LogTally {
  const used = { calls: 0, tokens: 0, usd: 0 }
  const tenants = new Set<string>()
  let [refused, unpriced, hasTokens] = [0, 0, false]
  let [from, to] = [Infinity, -Infinity]
  return {
    add({ at, subject, units, status }, usd) {
      used.calls += 1
      used.tokens += units['token'] ?? 0
      used.usd += usd ?? 0
      if (usd === undefined) unpriced += 1
      if (status === 429) refused += 1
      hasTokens ||= units['token'] !== undefined
      tenants.add(subject.tenant)
      from = Math.min(from, at)
      to = Math.max(to, at)
    },
    has: (tenant) => tenants.has(tenant),
    spanMs: () => Math.max(0, to - from),
    read: () => ({
      used,
      tenants: tenants.size,
      from: isoTime(from),
      to: isoTime(to),
      refused,
      unpriced,
      hasTokens,
    }),
  }
}

const isoTime = (at: number): string | undefined =>
  Number.isFinite(at) ? new Date(at).toISOString() : undefined
