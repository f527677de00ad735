import type { Decision, PolicyState, SkippedPolicy } from '../decision.ts'
import type { StoreReply, Verdict } from '../stores/store.ts'
import type { ResolvedEntry } from './resolve.ts'

/** The third stage of a decision: turns the store's reply into a plain value. */
export function conclude(
  entries: readonly ResolvedEntry[],
  { now, source, place, verdicts, degraded }: StoreReply,
  skipped: readonly SkippedPolicy[],
  { plan, planSource }: Pick<Decision, 'plan' | 'planSource'>,
): Decision {
  // A decision without counts has no verdicts.
  const policies = verdicts.map((verdict, index) =>
    stateOf(entries[index] as ResolvedEntry, verdict),
  )
  const facts = { at: now, source, place, skipped, plan, planSource, degraded, policies }
  return degraded && degraded.mode !== 'local'
    ? blindDecision(degraded.mode, facts)
    : decisionOf(facts)
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
    remaining: charged ? Math.max(0, available - cost) : available,
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

/** The parts of a decision that are known before its outcome. */
type DecisionFacts = Pick<
  Decision,
  'at' | 'source' | 'place' | 'skipped' | 'plan' | 'planSource' | 'degraded' | 'policies'
>

/** The `retryAfterMs` of a denial without the store, in milliseconds. */
const STORE_RETRY_MS = 1_000

/**
 * Decides from the states of all policies. The policy that denies is the first that can never fit,
 * otherwise the first that does not fit now; the wait is the longest of all that do not fit.
 */
function decisionOf(facts: DecisionFacts): Decision {
  let violated: PolicyState | undefined
  let retryAfterMs: number | null = 0
  let delayMs = 0
  for (const policy of facts.policies) {
    if (policy.fits || !policy.enforced) {
      delayMs = Math.max(delayMs, policy.delayMs)
      continue
    }
    if (retryAfterMs === null) continue
    const { retryAfterMs: waitMs } = policy
    if (waitMs === null || violated === undefined) violated = policy
    retryAfterMs = waitMs === null ? null : Math.max(retryAfterMs, waitMs)
  }
  // Engines copy an object fast if the copy begins with it.
  if (violated === undefined) {
    return { ...facts, allowed: true, reason: undefined, violated, retryAfterMs: 0, delayMs }
  }
  const reason = retryAfterMs === null ? 'cost_exceeds_limit' : violated.reason
  return { ...facts, allowed: false, reason, violated, retryAfterMs, delayMs: 0 }
}

/** Decides by `mode` alone, because the store failed. */
function blindDecision(mode: 'allow' | 'deny', facts: DecisionFacts): Decision {
  const base = { ...facts, violated: undefined, delayMs: 0 as const }
  return mode === 'allow'
    ? { ...base, allowed: true, reason: undefined, retryAfterMs: 0 }
    : { ...base, allowed: false, reason: 'store_unavailable', retryAfterMs: STORE_RETRY_MS }
}
