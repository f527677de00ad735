import type { AllowedDecision, Limiter, Subject } from '@sluice/core'
import { reserve, type Reservation, type ReserveOptions } from '@sluice/core/reservations'

/** Reserves, and throws unless it is allowed. */
export async function reserved(
  limiter: Limiter,
  subject: Subject,
  options: ReserveOptions = {},
): Promise<AllowedDecision & Reservation> {
  const decision = await reserve(limiter, subject, options)
  if (decision.allowed) return decision
  throw new Error(`A reservation was denied: ${decision.reason}`)
}
