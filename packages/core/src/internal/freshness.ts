/** How long an isolate relies on what it knows of the store's records, in milliseconds. */
export const FRESH_MS = 5_000

/** Returns true if `until` lies further ahead than anything can last: the clock was set back. */
export function clockMovedBack(until: number, now: number, lastsMs: number = FRESH_MS): boolean {
  return until - now > lastsMs
}
