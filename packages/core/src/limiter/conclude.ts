import type { Decision, PlanSource, PolicyState, SkippedPolicy } from '../decision.ts'
import type { StoreReply, Verdict } from '../stores/store.ts'
import type { ResolvedEntry } from './resolve.ts'
import { decide, decideBlind } from '../decision.ts'

/** Facts of a decision that do not depend on the store's answer. */
export interface KnownFacts {
  readonly skipped: readonly SkippedPolicy[]
  readonly plan: string | undefined
  readonly planSource: PlanSource | undefined
}

/** Stage three of a decision: makes it of what the store answered. */
export function conclude(
  entries: readonly ResolvedEntry[],
  { now, source, verdicts, degraded }: StoreReply,
  { skipped, plan, planSource }: KnownFacts,
): Decision {
  const facts = { at: now, source, skipped, plan, planSource, degraded }
  if (degraded && degraded.mode !== 'local') return decideBlind(degraded.mode, facts)
  const states = entries.map((entry, index) => stateOf(entry, verdicts[index] as Verdict))
  return decide(states, facts)
}

/** A policy's state after a decision. */
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
    limit: entry.wholeLimit,
    burst: entry.wholeBurst,
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
