import type { WaitUntil } from '@sluice/core'
import { copyResponse, watchStream } from '@sluice/core/http'
import { logError } from '../log-error.ts'
import { meterBody } from '../meter/meter.ts'
import type { AdmittedCall, CallOptions } from './engine.ts'
import type { PreparedCall } from './prepare.ts'
import { stripUsage } from './strip-usage.ts'

/** A call that was sent, and what its answer is metered by. */
export interface SentCall {
  readonly admitted: AdmittedCall
  readonly call: PreparedCall
  readonly options: CallOptions
  readonly waitUntil: WaitUntil | undefined
  readonly signal: AbortSignal | undefined
}

/** Returns the provider's answer with the same bytes, and settles when its usage is known. */
export function meterAnswer(
  response: Response,
  { admitted, call, options, waitUntil, signal }: SentCall,
): Response {
  if (!response.ok || response.body === null) {
    admitted.failed()
    return response
  }
  const { count, formats, onError = logError } = options
  const metered = meterBody(response, response.body, {
    model: call.model,
    inputTokens: call.input,
    settle: (usage) => admitted.settle(usage),
    onError,
    count,
    formats,
    waitUntil,
    signal,
  })
  const isStream = metered.headers.get('content-type')?.startsWith('text/event-stream')
  return call.addsUsage && isStream && metered.body
    ? copyResponse(metered, watchStream(metered.body, { filter: stripUsage() }))
    : metered
}
