/** The end of a stream: closed by its source, broken by it, or given up by its reader. */
type End = 'closed' | 'broken' | 'cancelled'

export interface Watcher<T> {
  /** Sees each chunk, after it has been passed on. */
  readonly see: (chunk: T) => void
  /** Called once. */
  readonly end: (how: End) => void
}

/**
 * Passes a stream on unchanged, one chunk for each that is asked for: nothing is read ahead, held back
 * or copied. Errors and cancellation go through as they are. An abort of `signal` cancels the source and
 * breaks what is passed on.
 */
export function watched<T>(
  source: ReadableStream<T>,
  watcher: Watcher<T>,
  signal?: AbortSignal,
): ReadableStream<T> {
  const reader = source.getReader()
  let ended = false
  let abort: (() => void) | undefined
  const end = (how: End): void => {
    if (ended) return
    ended = true
    if (abort) signal?.removeEventListener('abort', abort)
    watcher.end(how)
  }
  // Not a byte stream: that would take the chunk's memory away from whoever else holds it.
  return new ReadableStream<T>(
    {
      start(controller) {
        if (signal === undefined) return
        abort = () => {
          end('cancelled')
          controller.error(signal.reason)
          reader.cancel(signal.reason).catch(() => undefined)
        }
        if (signal.aborted) abort()
        else signal.addEventListener('abort', abort)
      },
      async pull(controller) {
        let result
        try {
          result = await reader.read()
        } catch (error) {
          end('broken')
          throw error
        }
        if (ended) return
        if (result.done) {
          end('closed')
          controller.close()
        } else {
          controller.enqueue(result.value)
          watcher.see(result.value)
        }
      },
      cancel(reason) {
        end('cancelled')
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
