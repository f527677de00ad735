import type { Decision, DeniedDecision } from '@sluice/core'
import { requestsOnly } from '@sluice/core/internal/http'
import { admit } from './engine.ts'
import type { AdmittedCall, CallTenant } from './options.ts'
import type { Prepare, PreparedCall } from './prepare.ts'
import { assertOfBody } from './refused-body.ts'

/** The model under which calls count that are sent to none. */
const NO_MODEL = 'other'

/** Counts a request, and nothing else: calls that are not sent, or are in vain, are not free to repeat. */
export const countRequest = ({ limiter, subject, waitUntil }: CallTenant): Promise<Decision> =>
  limiter.check(
    { ...subject, model: subject.model ?? NO_MODEL },
    { cost: requestsOnly(limiter, 1), waitUntil },
  )

/**
 * Prepares a call, which live prices may ask for twice, and charges it. Returns the denial if it does not fit. If the call
 * cannot be prepared, it charges a request and throws the error.
 *
 * @throws InputError When the body is refused.
 */
export async function admitCall<Call extends PreparedCall, Asked>(
  prepare: Prepare<Call, Asked>,
  tenant: CallTenant,
): Promise<AdmittedCall<Call> | DeniedDecision> {
  let call: Call
  try {
    call = await (tenant.options.prices?.live?.prepare<Call>(prepare) ?? prepare())
  } catch (error) {
    assertOfBody(error)
    const decision = await countRequest(tenant)
    if (!decision.allowed) return decision
    throw error
  }
  return tenant.options.fallbackModels?.admit(call, tenant, prepare) ?? admit(call, tenant)
}
