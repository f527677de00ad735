import type {
  AllowedDecision,
  Decision,
  DeniedDecision,
  PolicyState,
  SkippedPolicy,
} from '../decision.ts'
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
    stateOf(entries[index] as ResolvedEntry, verdict, now),
  )
  const { allowed, reason, violated, retryAfterMs, delayMs } =
    degraded && degraded.mode !== 'local' ? BLIND[degraded.mode] : resultOf(policies)
  // One literal: engines make it faster than a copy of an object with more.
  return {
    at: now,
    source,
    place,
    skipped,
    plan,
    planSource,
    degraded,
    policies,
    allowed,
    reason,
    violated,
    retryAfterMs,
    delayMs,
  } as Decision
}

/** Describes one policy after the decision. */
function stateOf(entry: ResolvedEntry, verdict: Verdict, now: number): PolicyState {
  const { policy, cost, enforced, burst } = entry
  const { fits, charged, available, resetMs, retryMs, waitMs = 0 } = verdict
  const { backpressure } = policy
  let delayMs = enforced ? waitMs : 0
  if (backpressure && enforced && fits && burst > 0) {
    // Uses what would remain after the cost, so `peek` reports the same delay as `check`.
    delayMs = Math.max(delayMs, backpressure.delayMs(1 - (available - cost) / burst))
  }
  const state: PolicyState = {
    name: policy.name,
    scope: policy.scope,
    unit: policy.unit,
    limit: entry.policyLimit,
    burst: entry.policyBurst,
    remaining: charged ? Math.max(0, available - cost) : available,
    cost,
    windowMs: policy.windowMs,
    resetMs,
    resetsAt: policy.calendar?.resetsAt(entry, now, resetMs),
    fits,
    charged,
    enforced,
    delayMs,
    retryAfterMs: retryMs < 0 ? null : retryMs,
    reason: policy.reason,
  }
  return policy.balance?.of(state, available) ?? state
}

/** The parts of a decision that its policies decide. */
export type Result = Pick<
  AllowedDecision | DeniedDecision,
  'allowed' | 'reason' | 'violated' | 'retryAfterMs' | 'delayMs'
>

/** The `retryAfterMs` of a denial without the store, in milliseconds. */
const STORE_RETRY_MS = 1_000

/** The results by mode alone, because the store failed. */
const BLIND: Readonly<Record<'allow' | 'deny', Result>> = {
  allow: {
    allowed: true,
    reason: undefined,
    violated: undefined,
    retryAfterMs: 0,
    delayMs: 0,
  },
  deny: {
    allowed: false,
    reason: 'store_unavailable',
    violated: undefined,
    retryAfterMs: STORE_RETRY_MS,
    delayMs: 0,
  },
}

/**
 * Decides from the states of all policies. The policy that denies is the first that can never fit,
 * otherwise the first that does not fit now; the wait is the longest of all that do not fit.
 */
export function resultOf(policies: readonly PolicyState[]): Result {
  let violated: PolicyState | undefined
  let retryAfterMs: number | null = 0
  let delayMs = 0
  for (const policy of policies) {
    if (policy.fits || !policy.enforced) {
      delayMs = Math.max(delayMs, policy.delayMs)
      continue
    }
    if (retryAfterMs === null) continue
    const { retryAfterMs: waitMs } = policy
    if (waitMs === null || violated === undefined) violated = policy
    retryAfterMs = waitMs === null ? null : Math.max(retryAfterMs, waitMs)
  }
  if (violated === undefined) {
    return { allowed: true, reason: undefined, violated, retryAfterMs: 0, delayMs }
  }
  const { reason: own } = violated
  // Another grant makes it fit.
  const isTooMuch = retryAfterMs === null && own !== 'credits_exhausted'
  const reason = isTooMuch ? 'cost_exceeds_limit' : own
  return { allowed: false, reason, violated, retryAfterMs, delayMs: 0 }
}
