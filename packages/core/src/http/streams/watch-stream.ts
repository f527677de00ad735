/** The end of a stream: closed by its source, broken by it, or given up by its reader. */
export type StreamEnd = 'closed' | 'broken' | 'cancelled'

/** Receives what passes through a stream. */
export interface StreamWatcher<T> {
  /** Sees each chunk, after it has been passed on. */
  readonly see?: (chunk: T) => void
  /** Called once. The end is passed on when what it returns is over. */
  readonly end?: (how: StreamEnd) => void | Promise<void>
  /** Returns what to pass on of a chunk, or, without one, what is left at the end. @default the chunk */
  readonly filter?: ((chunk?: T) => T | undefined) | undefined
  /** Cancels the source, and breaks what is passed on. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Passes a stream on, unchanged unless there is a `filter`, one chunk for each that is asked for: nothing is
 * read ahead, held back or copied. Errors and cancellation go through as they are.
 *
 * @example
 * const body = watchStream(response.body, { end: () => free() })
 */
export function watchStream<T>(
  source: ReadableStream<T>,
  { see, end: onEnd, filter, signal }: StreamWatcher<T>,
): ReadableStream<T> {
  const reader = source.getReader()
  let ended = false
  let abort: (() => void) | undefined
  const end = async (how: StreamEnd): Promise<void> => {
    if (ended) return
    ended = true
    if (abort) signal?.removeEventListener('abort', abort)
    await onEnd?.(how)
  }
  // Not a byte stream: that would take the chunk's memory away from whoever else holds it.
  return new ReadableStream<T>(
    {
      start(controller) {
        if (signal === undefined) return
        abort = () => {
          void end('cancelled')
          controller.error(signal.reason)
          reader.cancel(signal.reason).catch(() => undefined)
        }
        if (signal.aborted) abort()
        else signal.addEventListener('abort', abort)
      },
      async pull(controller) {
        let passed
        do {
          let result
          try {
            result = await reader.read()
          } catch (error) {
            await end('broken')
            throw error
          }
          if (ended) return
          passed = filter ? filter(result.value) : result.value
          if (passed !== undefined) controller.enqueue(passed)
          if (result.done) {
            await end('closed')
            controller.close()
            return
          }
          see?.(result.value)
        } while (passed === undefined)
      },
      async cancel(reason) {
        // First the source: a meter in it settles now, and then there is nothing left to free.
        const cancelled = reader.cancel(reason)
        await end('cancelled')
        await cancelled
      },
    },
    { highWaterMark: 0 },
  )
}
