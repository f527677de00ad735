import type { DeniedDecision, PolicyState } from '../decision.ts'

/** The retry time while calls are in flight, in milliseconds: one of them may return units at any moment. */
const HELD_RETRY_MS = 1_000

/**
 * Returns the denial with its cause: units that are missing now may be held by calls in flight, which
 * return what they do not use. A `concurrency` policy knows whether there are any.
 */
export function explainDenial(decision: DeniedDecision): DeniedDecision {
  const { retryAfterMs, policies, violated } = decision
  const isHeld = policies.some(
    ({ reason, remaining, burst }) => reason === 'concurrency_exceeded' && remaining < burst,
  )
  if (!isHeld || !violated || retryAfterMs === null || retryAfterMs <= HELD_RETRY_MS)
    return decision
  const explained = policies.map(explainState)
  const unfit = explained.filter(({ fits, enforced }) => enforced && !fits)
  const first = explained[policies.indexOf(violated)] ?? violated
  const waits = unfit.map(({ retryAfterMs: waitMs }) => waitMs ?? 0)
  return {
    ...decision,
    policies: explained,
    violated: first,
    reason: first.reason,
    retryAfterMs: Math.max(...waits),
  }
}

/** Requests are not returned, so a policy that counts them says when it really fits. */
function explainState(state: PolicyState): PolicyState {
  const { fits, unit, retryAfterMs, resetMs } = state
  if (fits || unit === 'request' || retryAfterMs === null) return state
  return {
    ...state,
    reason: 'concurrency_exceeded',
    retryAfterMs: Math.min(retryAfterMs, HELD_RETRY_MS),
    resetMs: Math.min(resetMs, HELD_RETRY_MS),
  }
}
