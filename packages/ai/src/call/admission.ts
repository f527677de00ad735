import type { DeniedDecision } from '@sluice/core'
import { requestsOnly } from '@sluice/core/internal/http'
import { admit, type AdmittedCall, type CallTenant } from './engine.ts'
import type { PreparedCall } from './prepare.ts'
import { assertOfBody } from './refused-body.ts'

/** The model under which refused bodies count, because they name no model that can be called. */
const NO_MODEL = 'other'

/**
 * Prepares a call, which live prices may ask for twice, and charges it. Returns the denial if it does not fit. If the call cannot be prepared, it
 * charges a request and throws the error.
 *
 * @throws InputError When the body is refused.
 */
export async function admitCall<Call extends PreparedCall>(
  prepare: () => Call | Promise<Call>,
  tenant: CallTenant,
): Promise<AdmittedCall<Call> | DeniedDecision> {
  let call: Call
  try {
    call = await (tenant.options.prices?.live?.prepare(prepare) ?? prepare())
  } catch (error) {
    assertOfBody(error)
    const { limiter, subject, waitUntil } = tenant
    // A request, and nothing else: such calls are not free to repeat.
    const counted = { ...subject, model: subject.model ?? NO_MODEL }
    const decision = await limiter.check(counted, { cost: requestsOnly(limiter, 1), waitUntil })
    if (!decision.allowed) return decision
    throw error
  }
  return admit(call, tenant)
}
