import { runInBackground, type WaitUntil } from '../../internal/background.ts'
import { copyResponse } from '../headers/copy-response.ts'
import { watchStream } from '../streams/watch-stream.ts'

/** A call in flight: it holds a slot of a `concurrency` policy until its response is over. */
export interface CallInFlight {
  /**
   * Runs the handler, and ends the call with its response: when the body has been read or is cancelled,
   * or when the handler throws.
   */
  during(handle: () => Response | Promise<Response>): Promise<Response>
  /** Ends the call, for adapters whose handlers return no `Response`. Never rejects. */
  readonly end: () => Promise<void>
}

/**
 * Creates a call in flight.
 *
 * @param free Frees its slot. Called once; what it throws is ignored, because slots come free by themselves.
 */
export function createCallInFlight(
  request: Request,
  free: () => Promise<unknown>,
  waitUntil: WaitUntil | undefined,
): CallInFlight {
  let ending: Promise<void> | undefined
  let letGo: (() => void) | undefined

  const end = (): Promise<void> =>
    (ending ??= free()
      .catch(() => undefined)
      .then(() => letGo?.()))
  // The platform waits for the slot by itself if it can, else the end of the response does.
  const endOfResponse = async (): Promise<void> => {
    const ended = end()
    if (!waitUntil) await ended
  }

  return {
    end,
    async during(handle) {
      // From the beginning: once a client is gone, some platforms listen to nobody.
      const ended = new Promise<void>((resolve) => (letGo = resolve))
      if (waitUntil) runInBackground(ended, waitUntil)
      try {
        const response = await handle()
        const { body, status } = response
        // Some servers read no body for a client that was gone before, and do not cancel it.
        if (body !== null && request.signal?.aborted) {
          void body.cancel().catch(() => undefined)
          await endOfResponse()
          return new Response(null, { status: 499 })
        }
        // Nobody reads a body of these. A 101 carries a WebSocket, which a copy would lose.
        if (body !== null && status !== 101 && request.method !== 'HEAD') {
          return copyResponse(response, watchStream(body, { end: endOfResponse }))
        }
        await endOfResponse()
        return response
      } catch (error) {
        await endOfResponse()
        throw error
      }
    },
  }
}
