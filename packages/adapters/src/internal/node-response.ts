import type { ServerResponse } from 'node:http'
import type { CallInFlight } from '@sluice/core/http'

/** Ends a call, if there is one, with the response of Node.js that it is for. */
export function endWithResponse(call: CallInFlight | undefined, response: ServerResponse): void {
  if (call === undefined) return
  if (isOver(response)) void call.end()
  else response.once('close', () => void call.end())
}

/** Returns true if the response is complete or its client is gone: `close` may not be emitted again. */
export function isOver(response: ServerResponse): boolean {
  // A response of HTTP/2 has no `destroyed`, and is finished when its client is gone.
  return response.destroyed || response.writableFinished
}

/** Headers that earlier middleware may have set, too, for reasons of its own. */
const SHARED_HEADERS = new Set(['access-control-expose-headers', 'set-cookie', 'vary'])

/** Sets headers of a response of Node.js. Another value is replaced, except in a header that is shared. */
export function setHeaders(response: ServerResponse, headers: Iterable<[string, string]>): void {
  for (const [name, value] of headers) {
    if (SHARED_HEADERS.has(name.toLowerCase())) response.appendHeader(name, value)
    else response.setHeader(name, value)
  }
}

/** Sends a response of the Fetch API. */
export async function sendResponse(response: ServerResponse, answer: Response): Promise<void> {
  setHeaders(response, answer.headers)
  response.statusCode = answer.status
  response.end(Buffer.from(await answer.arrayBuffer()))
}
