import { meterBody } from '../meter/meter.ts'
import { chargedSignal } from './charged-signal.ts'
import type { AdmittedCall, SendCall } from './options.ts'
import type { PreparedBody } from './prepare.ts'
import { stripUsage } from './strip-usage.ts'

/** Sends a call once, and returns the provider's answer with the same bytes. Settles when its usage is known. */
export const sendCall: SendCall = async (admitted, send, signal, isOneFetch) => {
  try {
    const answer = await send(admitted, chargedSignal(admitted.tenant.limiter, signal))
    return [meterAnswer(answer, admitted, signal), admitted]
  } catch (error) {
    admitted.unanswered(isOneFetch && error)
    throw error
  }
}

/** Returns the provider's answer with the same bytes, and settles when its usage is known. */
export function meterAnswer(
  response: Response,
  admitted: AdmittedCall<PreparedBody>,
  signal: AbortSignal | undefined,
): Response {
  const { ok, body, headers } = response
  const { call, tenant, settle } = admitted
  if (!ok || !body) {
    admitted.failed()
    return response
  }
  const { count, formats, onError } = tenant.options
  const isStream = headers.get('content-type')?.startsWith('text/event-stream')
  return meterBody(response, body, {
    model: call.model,
    inputTokens: call.input,
    settle,
    onError,
    count,
    formats,
    waitUntil: tenant.waitUntil,
    signal,
    filter: call.addsUsage && isStream ? stripUsage() : undefined,
  })
}
