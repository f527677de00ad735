import type { Clock } from './clock.ts'
import type { Problem } from './hooks.ts'
import type { RecordField, Store } from './store.ts'
import { systemClock } from './clock.ts'

/** Something in the store that decisions depend on and that others may change. */
export interface Watch {
  readonly read: RecordField
  /** Takes note of what is there now, and tells whether a decision may be another one by it. */
  seen(value: string | undefined): boolean
}

/** How long an isolate relies on what it knows of the store's records, in milliseconds. */
export const RELY_MS = 5_000

/** Whether the clock has been set back since it was said to last until then, which is too far ahead. */
export function isSetBack(until: number, now: number, lastsMs: number = RELY_MS): boolean {
  return until - now > lastsMs
}

/** What a limiter lends to what it is extended with. */
export interface Lent {
  /** Throws when it fails: nothing stands in for records. */
  readonly store: Store
  readonly clock: Clock
  problem(problem: Problem): void
}

/** Keeps a promise alive past the response, as `ctx.waitUntil` does. */
export type WaitUntil = (promise: Promise<unknown>) => void

/** Lets `work` go on past the response; whoever started it has no use for how it ends. */
export function background(work: Promise<unknown>, waitUntil?: WaitUntil): void {
  const safe = work.catch(() => {})
  try {
    waitUntil?.(safe)
  } catch {
    // Cloudflare's own throws when it is passed unbound; the work goes on as if there were none.
  }
}

/** What these fields hold, in a round trip of its own. @throws StoreError When the store fails. */
export async function readFields(
  { store, clock }: Lent,
  reads: readonly RecordField[],
): Promise<readonly (string | undefined)[]> {
  const now = Math.floor(clock())
  const request = { id: '', entries: [], apply: false, now, clockIsInjected: false, reads }
  return (await store.check(request)).read
}

/** The shortest and the longest pause between looks at what another request, or isolate, is finding. */
export const LOOKS_MS = { isolate: [2, 50], store: [20, 200] } as const

/** Resolves after so many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** Pauses from the shortest on to the longest, each twice as long as the one before. */
export function* pauses([shortest, longest]: readonly [number, number]): Generator<number, never> {
  for (let ms = shortest; ; ms = Math.min(2 * ms, longest)) yield ms
}

/** How long a request waits for what another one loads, which may have been cut off. */
const LOAD_MS = 1_000

/**
 * Makes of `load` what one request of an isolate does for all that need it at the same moment: the
 * others wait until it has failed or `found` has what they need. It is told by plain data, as no
 * request can wait for another's promise.
 */
export function oneForAll<T>(load: () => Promise<T>, found: () => T | undefined): () => Promise<T> {
  let endsAt = 0
  let failures = 0
  let failure: unknown
  return async () => {
    const before = failures
    let waitedMs = 0
    for (const waitMs of pauses(LOOKS_MS.isolate)) {
      if (systemClock() >= endsAt || waitedMs >= LOAD_MS) break
      await pause(waitMs)
      waitedMs += waitMs
      const loaded = found()
      if (loaded !== undefined) return loaded
      if (failures !== before) throw failure
    }
    endsAt = systemClock() + LOAD_MS
    try {
      return await load()
    } catch (error) {
      failures += 1
      failure = error
      throw error
    } finally {
      endsAt = 0
    }
  }
}
