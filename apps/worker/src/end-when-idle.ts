/** The time of the machine, and its timers. */
export interface Clock {
  now(): number
  /** Calls back once, and returns a function that prevents it. */
  after(ms: number, call: () => void): () => void
}

export const CLOCK: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}

/** The time in which a client reads the last bytes: those before an error may be lost. */
const LAST_BYTES_MS = 1_000

/**
 * Returns the same bytes. Once the source has been silent for `idleMs` while somebody reads, it is cancelled: the reader
 * gets the bytes that `onIdle` returns, and then an error.
 */
export function endWhenIdle(
  source: ReadableStream<Uint8Array>,
  idleMs: number,
  onIdle: () => Uint8Array | undefined,
  clock: Clock,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  /** The time since which a chunk is awaited. */
  let since: number | undefined
  let isIdle = false
  /** Lets the last bytes pass before the error. */
  let last: Uint8Array | undefined
  // One timer for all chunks: most streams have many.
  let stop: (() => void) | undefined
  return new ReadableStream(
    {
      start(controller) {
        const look = (): void => {
          const left = since === undefined ? idleMs : since + idleMs - clock.now()
          if (left > 0) {
            stop = clock.after(left, look)
            return
          }
          isIdle = true
          last = onIdle()
          if (last) controller.enqueue(last)
          void reader.cancel().catch(() => undefined)
        }
        stop = clock.after(idleMs, look)
      },
      async pull(controller) {
        since = clock.now()
        const next = await reader.read().catch((error: unknown) => {
          // In workerd, cancelling breaks a read that waits.
          if (isIdle) return undefined
          stop?.()
          throw error
        })
        since = undefined
        if (isIdle && last) {
          await new Promise<void>((resolve) => (stop = clock.after(LAST_BYTES_MS, resolve)))
        }
        if (!next || isIdle) throw new Error('The provider has stopped sending.')
        if (!next.done) return controller.enqueue(next.value)
        stop?.()
        controller.close()
      },
      cancel(reason) {
        stop?.()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
