import { systemClock } from '../clock.ts'

/** The shortest and the longest pause between polls, of this isolate's memory and of the store. */
export const POLL_MS = { isolate: [2, 50], store: [20, 200] } as const

/** Resolves after `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** Yields pauses that double from `shortest` to `longest`, without end. */
export function* growingPauses([shortest, longest]: readonly [number, number]): Generator<
  number,
  never
> {
  for (let ms = shortest; ; ms = Math.min(2 * ms, longest)) yield ms
}

/** The longest wait for another request's load, which the platform may have cut off. */
const MAX_LOAD_MS = 1_000

/**
 * Deduplicates concurrent loads: one request of an isolate calls `load`; the others wait until `cached`
 * returns a value or the load fails. Waiters poll, because Workers cannot share promises across requests.
 */
export function singleFlight<T, Args extends unknown[]>(
  load: (...args: Args) => Promise<T>,
  cached: () => T | undefined,
): (...args: Args) => Promise<T> {
  let endsAt = 0
  let failures = 0
  let failure: unknown
  return async (...args) => {
    const failuresBefore = failures
    let waitedMs = 0
    for (const waitMs of growingPauses(POLL_MS.isolate)) {
      if (systemClock() >= endsAt || waitedMs >= MAX_LOAD_MS) break
      await pause(waitMs)
      waitedMs += waitMs
      const loaded = cached()
      if (loaded !== undefined) return loaded
      if (failures !== failuresBefore) throw failure
    }
    endsAt = systemClock() + MAX_LOAD_MS
    try {
      return await load(...args)
    } catch (error) {
      failures += 1
      failure = error
      throw error
    } finally {
      endsAt = 0
    }
  }
}
