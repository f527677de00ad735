import { systemClock } from '../clock.ts'

/** The shortest and the longest pause between looks at what another request, or isolate, is finding. */
export const POLL_MS = { isolate: [2, 50], store: [20, 200] } as const

/** Resolves after so many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** Pauses from the shortest on to the longest, each twice as long as the one before. */
export function* growingPauses([shortest, longest]: readonly [number, number]): Generator<
  number,
  never
> {
  for (let ms = shortest; ; ms = Math.min(2 * ms, longest)) yield ms
}

/** How long a request waits for what another one loads, which may have been cut off. */
const LOAD_MS = 1_000

/**
 * Deduplicates concurrent loads: one request of an isolate loads, the others wait until it has failed
 * or `found` has what they need. Waiters poll, because Workers cannot share promises across requests.
 */
export function singleFlight<T, Args extends unknown[]>(
  load: (...args: Args) => Promise<T>,
  found: () => T | undefined,
): (...args: Args) => Promise<T> {
  let endsAt = 0
  let failures = 0
  let failure: unknown
  return async (...args) => {
    const before = failures
    let waitedMs = 0
    for (const waitMs of growingPauses(POLL_MS.isolate)) {
      if (systemClock() >= endsAt || waitedMs >= LOAD_MS) break
      await pause(waitMs)
      waitedMs += waitMs
      const loaded = found()
      if (loaded !== undefined) return loaded
      if (failures !== before) throw failure
    }
    endsAt = systemClock() + LOAD_MS
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
