/** The time for which an isolate relies on its copy of a stored record, in milliseconds. */
export const FRESH_MS = 5_000

/** Returns true for `lastsMs` from `since`. A clock that was set back before that ends them. */
export function isFresh(since: number, now: number, lastsMs: number = FRESH_MS): boolean {
  return now >= since && now - since < lastsMs
}
