/** The time for which an isolate relies on its copy of a stored record, in milliseconds. */
export const FRESH_MS = 5_000

/** Returns true if `until` lies further ahead than `lastsMs` allows: the clock was set back. */
export function clockMovedBack(until: number, now: number, lastsMs: number = FRESH_MS): boolean {
  return until - now > lastsMs
}
