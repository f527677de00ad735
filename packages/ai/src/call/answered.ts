import { meterBody } from '../meter/meter.ts'
import type { AdmittedCall } from './engine.ts'
import { stripUsage } from './strip-usage.ts'

/** Returns the provider's answer with the same bytes, and settles when its usage is known. */
export function meterAnswer(
  response: Response,
  admitted: AdmittedCall,
  signal: AbortSignal | undefined,
): Response {
  if (!response.ok || response.body === null) {
    admitted.failed()
    return response
  }
  const { call, tenant } = admitted
  const { count, formats, onError } = tenant.options
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  return meterBody(response, response.body, {
    model: call.model,
    inputTokens: call.input,
    settle: (usage) => admitted.settle(usage),
    onError,
    count,
    formats,
    waitUntil: tenant.waitUntil,
    signal,
    filter: call.addsUsage && isStream ? stripUsage() : undefined,
  })
}
