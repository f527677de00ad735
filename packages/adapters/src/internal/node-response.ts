import type { ServerResponse } from 'node:http'
import type { AllowOutcome } from '@sluice/core/http'

/** Adds the limits' headers to a response of Node.js, and frees at its end what `outcome` holds. */
export function limitResponse(
  response: ServerResponse,
  { headers, call }: AllowOutcome,
  signal: AbortSignal,
): void {
  for (const [name, value] of Object.entries(headers)) {
    // Others may expose headers of their own to scripts.
    if (name.toLowerCase() === 'access-control-expose-headers') response.appendHeader(name, value)
    else response.setHeader(name, value)
  }
  if (call === undefined) return
  if (signal.aborted) void call.end()
  else response.once('close', () => void call.end())
}

/** Sends a response of the Fetch API. */
export async function sendResponse(response: ServerResponse, answer: Response): Promise<void> {
  for (const [name, value] of answer.headers) response.appendHeader(name, value)
  response.statusCode = answer.status
  response.end(Buffer.from(await answer.arrayBuffer()))
}
