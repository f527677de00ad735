import type { AllowedDecision, Limiter, Reservation, ReserveOptions, Subject } from '@sluice/core'

/** Reserves, and throws unless it is allowed. */
export async function reserved(
  limiter: Limiter,
  subject: Subject,
  options: ReserveOptions = {},
): Promise<AllowedDecision & Reservation> {
  const decision = await limiter.reserve(subject, options)
  if (decision.allowed) return decision
  throw new Error(`A reservation was denied: ${decision.reason}`)
}
