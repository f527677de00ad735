import type { PolicyState } from '../decision.ts'
import type { Outcome } from '../limiter/outcome.ts'
import type { LimiterRuntime } from '../limiter/runtime.ts'
import { resultOf } from '../limiter/conclude.ts'
import { unansweredOf } from './telling.ts'

/** The retry time while calls hold what is missing, in milliseconds: one of them may return units at any moment. */
const HELD_RETRY_MS = 1_000

const reason = 'concurrency_exceeded'

/** Explains a denial; of choices each that was tried. Returns the outcome, which is then about the one that fits soonest. */
export function explained(outcome: Outcome, runtime: LimiterRuntime): Outcome {
  const explain = (one: Outcome): void => explainDenial(one, runtime)
  if (outcome.explained) return { ...outcome, ...outcome.explained(explain) }
  explain(outcome)
  return outcome
}

/**
 * Gives a denial its cause: units that are missing now may be held by open reservations, which return what they do not
 * use. This process knows its own; a `concurrency` policy knows whether others have any. Requests are not returned, so a
 * policy that counts them says when it really fits.
 */
function explainDenial({ decision, entries }: Outcome, runtime: LimiterRuntime): void {
  const { policies, violated, at } = decision
  // A balance does not say when units return.
  if (!violated?.retryAfterMs && violated?.reason !== 'credits_exhausted') return
  const held = entries.map(() => 0)
  for (const { open } of unansweredOf(runtime).values()) {
    if (!open || open.settleBy <= at) continue
    for (const { index, key, units } of open.charges) {
      const n = entries.findIndex((entry) => entry.index === index && entry.key === key)
      if (n >= 0) held[n]! += units
    }
  }
  /** Returns the units that would be left of a policy if this process held none. */
  const leftOf = ({ remaining }: PolicyState, n: number): number => remaining + (held[n] ?? 0)
  const othersHold = policies.some((one, n) => one.reason === reason && one.burst > leftOf(one, n))
  policies.forEach((state, n) => {
    const { fits, unit, cost, retryAfterMs, resetMs } = state
    // An empty balance is one, whatever others may give back. A cost above a limit never fits.
    const isBalance = state.reason === 'credits_exhausted'
    const mayReturn = othersHold && !isBalance && retryAfterMs !== null
    if (!fits && unit !== 'request' && (mayReturn || cost <= leftOf(state, n)))
      Object.assign(state, {
        reason,
        retryAfterMs: Math.min(retryAfterMs ?? HELD_RETRY_MS, HELD_RETRY_MS),
        resetMs: Math.min(resetMs, HELD_RETRY_MS),
      })
  })
  Object.assign(decision, resultOf(policies))
}
