import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AllowedDecision } from '@sluice/core'
import { decisionOf, reservationOf, type RequestReservation } from '@sluice/core/http'
import { headersOf } from './fetch-headers.ts'
import { isOver } from './node-response.ts'
import { closeWithClient } from './close-with-client.ts'

/** A request of Node.js, as frameworks pass it on: some rewrite `url`, and keep what the client sent. */
export type NodeRequest = IncomingMessage & { readonly originalUrl?: string }

const requests = new WeakMap<IncomingMessage, Request>()

/**
 * Returns a request of Node.js as one of the Fetch API: its method, URL and headers. The same request
 * gives the same object. Its body stays unread, so the object has none. Its signal aborts if the client
 * goes away before the response is complete.
 *
 * @throws Error With `status` 400 for a request that the Fetch API cannot express, such as `TRACE`.
 */
export function requestOf(incoming: NodeRequest, response: ServerResponse): Request {
  const known = requests.get(incoming)
  if (known !== undefined) return known
  const request = createRequest(incoming, abortSignalOf(response))
  requests.set(incoming, request)
  closeWithClient(incoming, response)
  return request
}

/**
 * Returns the reservation of a request of Node.js.
 *
 * @throws ConfigError When nothing is reserved for the request.
 */
export const reservationOfNode = (incoming: IncomingMessage): RequestReservation =>
  reservationOf(requests.get(incoming) as Request)

/** Returns the decision on a request of Node.js, if it was charged. */
export const decisionOfNode = (incoming: IncomingMessage): AllowedDecision | undefined =>
  decisionOf(requests.get(incoming) as Request)

function createRequest(incoming: NodeRequest, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', originalUrl = url } = incoming
  const { protocol, host } = originOf(incoming)
  try {
    // Not relative to a base, because a path may begin with two slashes. A proxy gets an absolute URL.
    const href = originalUrl.startsWith('/') ? `${protocol}//${host}${originalUrl}` : originalUrl
    return new Request(href, { method, headers: headersOf(incoming.headers), signal })
  } catch (cause) {
    throw Object.assign(new Error('The request is malformed.', { cause }), {
      status: 400,
      statusCode: 400,
    })
  }
}

function originOf({ headers, socket }: IncomingMessage): { protocol: string; host: string } {
  const protocol = 'encrypted' in socket ? 'https:' : 'http:'
  const { host = '' } = headers
  return {
    protocol,
    host: /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i.test(host) ? host : 'localhost',
  }
}

function abortSignalOf(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const abortUnlessComplete = (): void => {
    // HTTP/2 says that a response is finished when its client is gone, too.
    if (!(response.writableEnded && response.writableFinished)) gone.abort()
  }
  // Earlier middleware may have waited for longer than the client did.
  if (isOver(response)) abortUnlessComplete()
  else response.once('close', abortUnlessComplete)
  return gone.signal
}
