/* The line in which a denied request waits. */
import type { PolicyRule } from '../policies/policy.ts'
import type { Entry, Verdict } from '../stores/store.ts'
import type { LinedEntries } from './stand.ts'
import { systemClock } from '../clock.ts'

/** Returns true for the line before a limit. */
export const isLine = ({ algorithm }: PolicyRule): boolean => algorithm.traits?.ticketed === true

/** A line to wait in. */
export interface LongestLine extends LinedEntries {
  /** The earliest time that it may fit (epoch ms). */
  readonly fitsAt: number
  /** The time that it would fit if nobody waited before it. */
  readonly aloneAt: number
}

/**
 * Returns the line of the limit that denies for the longest, or `undefined` if nothing denies, or one that has no line, or
 * for ever. A caller waits in one line only: in two, it would hold up both.
 */
export function longestLine(
  entries: readonly Entry[],
  verdicts: readonly Verdict[],
): LongestLine | undefined {
  const now = systemClock()
  let longest: LongestLine | undefined
  for (const [at, entry] of entries.entries()) {
    const verdict = verdicts[at]
    if (!entry.enforced || !verdict || verdict.fits) continue
    const { retryMs } = verdict
    const limitPolicy = entry.policy.follows ?? entry.policy
    const limit = entries.find(({ policy }) => policy === limitPolicy)
    const line = entries.find(({ policy }) => isLine(policy) && policy.follows === limitPolicy)
    if (!line || !limit || retryMs < 0) return undefined
    const fitsAt = now + retryMs
    if (longest && longest.fitsAt >= fitsAt) continue
    const ofLimit = verdicts[entries.indexOf(limit)]
    const aloneAt = now + (ofLimit?.fits ? 0 : (ofLimit?.retryMs ?? 0))
    longest = { line: line as LinedEntries['line'], limit, fitsAt, aloneAt }
  }
  return longest
}
