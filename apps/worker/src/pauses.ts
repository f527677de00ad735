/** The calls in a row that fail before a tenant's calls to a provider are paused. */
const FAILURES = 3

/** More than an isolate's tenants that find a provider away at the same time. */
const MAX_PAUSES = 10_000

interface Failing {
  failures: number
  until: number
}

/**
 * Pauses a tenant's calls to a provider that does not answer, because each of them keeps its estimate. After a pause
 * one call tries. A tenant can pause its own calls only: its calls may be the reason.
 */
export interface Pauses {
  /** Returns the milliseconds to wait, or 0 if a call may be sent. */
  wait(tenant: string, provider: string): number
  answered(tenant: string, provider: string): void
  failed(tenant: string, provider: string): void
}

const keyOf = (tenant: string, provider: string): string => JSON.stringify([tenant, provider])

/** @param pauseMs The length of a pause; 0 pauses nothing. */
export function createPauses(pauseMs: number, now: () => number = Date.now): Pauses {
  const failing = new Map<string, Failing>()

  return {
    wait(tenant, provider) {
      const found = failing.get(keyOf(tenant, provider))
      if (pauseMs === 0 || found === undefined || found.failures < FAILURES) return 0
      const left = found.until - now()
      if (left > 0) return left
      // The others wait for the result of this one.
      found.until = now() + pauseMs
      return 0
    },
    answered(tenant, provider) {
      failing.delete(keyOf(tenant, provider))
    },
    failed(tenant, provider) {
      const key = keyOf(tenant, provider)
      const { failures = 0 } = failing.get(key) ?? {}
      failing.delete(key)
      const [oldest] = failing.keys()
      if (failing.size >= MAX_PAUSES && oldest !== undefined) failing.delete(oldest)
      failing.set(key, { failures: failures + 1, until: now() + pauseMs })
    },
  }
}
