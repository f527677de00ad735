import { systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'

/**
 * Runs a call, and aborts it `timeoutMs` after `startedAt`.
 *
 * @throws StoreError `store_timeout`
 */
export async function withDeadline<T>(
  timeoutMs: number,
  startedAt: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  // If the clock was set back, the wait must not become longer.
  const leftMs = timeoutMs - Math.max(0, systemClock() - startedAt)
  try {
    // The race bounds the wait even where a custom `fetch` ignores its signal.
    return await new Promise<T>((resolve, reject) => {
      const abort = (): void => {
        const text = `The store did not answer within ${timeoutMs} ms`
        controller.abort(new StoreError('store_timeout', text))
        reject(controller.signal.reason)
      }
      if (leftMs <= 0) {
        abort()
        return
      }
      timer = setTimeout(abort, leftMs)
      call(controller.signal).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
  }
}
