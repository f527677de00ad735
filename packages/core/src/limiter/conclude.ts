import type { Decision, PolicyState, SkippedPolicy } from '../decision.ts'
import type { StoreReply, Verdict } from '../stores/store.ts'
import type { ResolvedEntry } from './resolve.ts'

/** The third stage of a decision: turns the store's reply into a plain value. */
export function conclude(
  entries: readonly ResolvedEntry[],
  { now, source, verdicts, degraded }: StoreReply,
  skipped: readonly SkippedPolicy[],
  { plan, planSource }: Pick<Decision, 'plan' | 'planSource'>,
): Decision {
  const facts = { at: now, source, skipped, plan, planSource, degraded }
  if (degraded && degraded.mode !== 'local') return blindDecision(degraded.mode, facts)
  const states = entries.map((entry, index) => stateOf(entry, verdicts[index] as Verdict))
  return decisionOf(states, facts)
}

/** Describes one policy after the decision. */
function stateOf(entry: ResolvedEntry, verdict: Verdict): PolicyState {
  const { policy, cost, enforced, burst } = entry
  const { fits, charged, available, resetMs, retryMs, waitMs = 0 } = verdict
  const { backpressure } = policy
  let delayMs = enforced ? waitMs : 0
  if (backpressure && enforced && fits && burst > 0) {
    // Uses what would remain after the cost, so `peek` reports the same delay as `check`.
    delayMs = Math.max(delayMs, backpressure.delayMs(1 - (available - cost) / burst))
  }
  return {
    name: policy.name,
    scope: policy.scope,
    unit: policy.unit,
    limit: entry.policyLimit,
    burst: entry.policyBurst,
    remaining: charged && available > cost ? available - cost : charged ? 0 : available,
    cost,
    windowMs: policy.windowMs,
    resetMs,
    fits,
    charged,
    enforced,
    delayMs,
    retryAfterMs: retryMs < 0 ? null : retryMs,
    reason: policy.reason,
  }
}

/** The parts of a decision that do not depend on the policies' states. */
type DecisionFacts = Pick<
  Decision,
  'at' | 'source' | 'skipped' | 'plan' | 'planSource' | 'degraded'
>

/** The `retryAfterMs` of a denial without the store, in milliseconds. */
const STORE_RETRY_MS = 1_000

/**
 * Decides from the states of all policies. The policy that denies is the first that can never fit,
 * otherwise the first that does not fit now; the wait is the longest of all that do not fit.
 */
function decisionOf(policies: readonly PolicyState[], facts: DecisionFacts): Decision {
  let violated: PolicyState | undefined
  let retryAfterMs: number | null = 0
  let delayMs = 0
  for (const policy of policies) {
    if (policy.fits || !policy.enforced) {
      if (policy.delayMs > delayMs) delayMs = policy.delayMs
      continue
    }
    if (retryAfterMs === null) continue
    const { retryAfterMs: waitMs } = policy
    if (waitMs === null || violated === undefined) violated = policy
    retryAfterMs = waitMs === null ? null : Math.max(retryAfterMs, waitMs)
  }
  const base = { policies, ...facts }
  if (violated === undefined) {
    return { allowed: true, reason: undefined, violated, retryAfterMs: 0, delayMs, ...base }
  }
  const reason = retryAfterMs === null ? 'cost_exceeds_limit' : violated.reason
  return { allowed: false, reason, violated, retryAfterMs, delayMs: 0, ...base }
}

/** Decides by `mode` alone, because the store failed. */
function blindDecision(mode: 'allow' | 'deny', facts: DecisionFacts): Decision {
  const base = { policies: [], violated: undefined, delayMs: 0 as const, ...facts }
  return mode === 'allow'
    ? { allowed: true, reason: undefined, retryAfterMs: 0, ...base }
    : { allowed: false, reason: 'store_unavailable', retryAfterMs: STORE_RETRY_MS, ...base }
}
