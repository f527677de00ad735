/* The memory of `cacheDenials` of a partition, and its answer to a later request. */
import type { Entry, Verdict } from './store.ts'

/** The store's latest verdict on one entry of a denied request. */
export interface KnownVerdict {
  readonly limit: number
  readonly burst: number
  readonly cost: number
  readonly verdict: Verdict
  /** The local time before the request was sent: times that count from it end too early, never too late. */
  readonly at: number
  /** The clock of the store, less the local one when the reply was there: so it is never ahead. */
  readonly clockOffset: number
}

/** Returns `known` if it is of the same limit, and not of the future: a clock may be set back. */
export const latestOf = (
  known: KnownVerdict | undefined,
  { limit, burst }: Entry,
  now: number,
): KnownVerdict | undefined =>
  known && known.limit === limit && known.burst === burst && known.at <= now ? known : undefined

/**
 * Returns true if the cost cannot fit yet, because the same or a smaller one did not. While the store
 * fails, a smaller cost than that must fit into what was left.
 */
export function stillDenies(
  known: KnownVerdict,
  entry: Entry,
  now: number,
  hasFailed: boolean,
): boolean {
  const { verdict, cost, at } = known
  const { fits, available, resetMs, retryMs } = verdict
  if (fits) return false
  if (entry.cost >= cost) return retryMs < 0 || now < at + retryMs
  return hasFailed && entry.cost > available && now < at + (retryMs < 0 ? resetMs : retryMs)
}

/** Returns true if a cost that fits shows that a known denial is over: units came back early. */
export const disproves = (
  { fits }: Verdict,
  cost: number,
  known: KnownVerdict | undefined,
): boolean => known !== undefined && !known.verdict.fits && fits && cost >= known.cost

/** Returns the verdict on `entry` as far as it is known. A wait is never too long. */
export function verdictNow(
  { verdict, cost: knownCost, at }: KnownVerdict,
  { cost, burst }: Entry,
  now: number,
  denies: boolean,
): Verdict {
  const elapsed = now - at
  const resetMs = verdict.resetMs - elapsed
  const isLarger = cost >= knownCost
  const neverFits = cost > burst || (denies && isLarger && verdict.retryMs < 0)
  // Units may have come back since: then nothing speaks against the cost.
  const isOpen = !denies && (resetMs <= 0 || (!verdict.fits && isLarger))
  const available = isOpen ? Math.max(verdict.available, Math.min(cost, burst)) : verdict.available
  const fits = !denies && (cost === 0 || cost <= available)
  const retryMs = denies && verdict.retryMs >= 0 ? verdict.retryMs - elapsed : resetMs
  return {
    fits,
    charged: false,
    available,
    resetMs: Math.max(1, resetMs),
    retryMs: fits ? 0 : neverFits ? -1 : retryMs,
  }
}

/** Returns `known` after `cost` units were let through by another store. */
export function afterUse(known: KnownVerdict, cost: number): KnownVerdict {
  const { verdict } = known
  return { ...known, verdict: { ...verdict, available: Math.max(0, verdict.available - cost) } }
}

/** Returns the verdict on an entry of which nothing is known, as if nothing had been used. */
export function unusedVerdict(entry: Entry, now: number): Verdict {
  const { policy } = entry
  return { ...policy.algorithm.check(undefined, entry, now), charged: false }
}
