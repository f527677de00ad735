interface Immediate {
  readonly setImmediate?: (callback: () => void) => unknown
}

// Kept, because tests replace it.
const { setImmediate } = globalThis as Immediate

/**
 * Resolves at the end of this turn of the event loop, once the I/O that is ready has been read. Where there is no
 * `setImmediate`, it resolves at once.
 */
export const endOfTurn = (): Promise<void> =>
  new Promise((resolve) => {
    ;(setImmediate ?? queueMicrotask)(resolve)
  })
