import type { Decision, PolicyState } from '../decision.ts'
import { sfItem } from './structured-fields.ts'

/** From this wait on a client is told not to retry by itself. */
const LONG_WAIT_MS = 60_000

/**
 * The headers that tell a client where it stands, for allowed and denied responses alike:
 *
 * - `X-RateLimit-Limit`, `-Remaining`, `-Reset` (epoch seconds) and `-Scope` of the policy that bound,
 *   or that would bind first;
 * - `RateLimit-Policy` of every policy, and `RateLimit` of every policy (on a denial, of those that
 *   deny), as in draft-ietf-httpapi-ratelimit-headers-11;
 * - on a denial `Retry-After` (whole seconds, rounded up; RFC 9110, section 10.2.3), absent when the
 *   cost can never fit;
 * - for waits under a minute `retry-after-ms`, for longer ones and for never `x-should-retry: false`:
 *   the OpenAI and Anthropic clients read both.
 *
 * A decision made blindly (`degraded` with mode `allow` or `deny`) has no policies to tell of.
 */
export function rateLimitHeaders(decision: Decision): Record<string, string> {
  const headers: Record<string, string> = {}
  const { policies, at } = decision
  const shown = decision.violated ?? nextToBind(policies)
  if (shown !== undefined) {
    const resetMs = (decision.allowed ? undefined : decision.retryAfterMs) ?? shown.resetMs
    headers['X-RateLimit-Limit'] = String(shown.limit)
    headers['X-RateLimit-Remaining'] = String(shown.remaining)
    headers['X-RateLimit-Reset'] = String(Math.ceil((at + resetMs) / 1000))
    headers['X-RateLimit-Scope'] = shown.scope
    headers['RateLimit-Policy'] = policies.map(policyItem).join(', ')
    // The draft wants Retry-After no earlier than any `t` beside it; a quota that does not deny may
    // well reset later.
    const told = decision.allowed ? policies : policies.filter(({ fits }) => !fits)
    headers['RateLimit'] = told.map(stateItem).join(', ')
  }
  return decision.allowed ? headers : { ...headers, ...retryHeaders(decision.retryAfterMs) }
}

function retryHeaders(retryAfterMs: number | null): Record<string, string> {
  if (retryAfterMs === null) return { 'x-should-retry': 'false' }
  const headers = { 'Retry-After': String(retryAfterSeconds(retryAfterMs)) }
  return retryAfterMs < LONG_WAIT_MS
    ? { ...headers, 'retry-after-ms': String(retryAfterMs) }
    : { ...headers, 'x-should-retry': 'false' }
}

/** A wait in whole seconds, rounded up, at least 1. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

/** The policy that allows the fewest more requests like this one. */
function nextToBind(policies: readonly PolicyState[]): PolicyState | undefined {
  let next: PolicyState | undefined
  let fewest = Infinity
  for (const policy of policies) {
    const more = policy.remaining / Math.max(1, policy.cost)
    if (more < fewest) [next, fewest] = [policy, more]
  }
  return next
}

function policyItem({ name, limit, windowMs, unit }: PolicyState): string {
  const w = Math.max(1, Math.ceil(windowMs / 1000))
  // `qu` is for registered units only, and absent it means requests.
  return sfItem(name, unit === 'request' ? { q: limit, w } : { q: limit, w, 'sluice-unit': unit })
}

function stateItem({ name, remaining, resetMs }: PolicyState): string {
  return sfItem(name, { r: remaining, t: Math.ceil(resetMs / 1000) })
}
