import type { Entry, StoreRequest, Verdict } from '../stores/store.ts'
import type { Moment } from './block.ts'
import type { LeaseBook, Served } from './lease-book.ts'
import { termsOf } from './lease.ts'

/** The part of a decision that leases serve. */
export interface LocalPart {
  /** One for each entry, in the order of the request: `undefined` if no lease serves it. */
  readonly verdicts: readonly (Verdict | undefined)[]
  /** The entries that no lease serves. */
  readonly rest: readonly Entry[]
  /** The leases that have charged their part. */
  readonly served: readonly Served[]
  /** Returns the units to their leases, because the decision is not allowed. */
  putBack(): void
}

/**
 * Serves the entries whose leases hold their cost. Awaits nothing, so that no other decision takes the
 * same units.
 */
export function serveLocally(
  book: LeaseBook,
  { entries, apply }: StoreRequest,
  now: Moment,
): LocalPart {
  const verdicts: (Verdict | undefined)[] = []
  const rest: Entry[] = []
  const served: Served[] = []
  for (const entry of entries) {
    const { policy, cost, enforced } = entry
    const lease = enforced && termsOf(policy) ? book.find(entry, now) : undefined
    verdicts.push(lease?.verdict(cost, apply, now))
    if (!lease) {
      rest.push(entry)
    } else if (apply && cost > 0) {
      lease.left -= cost
      served.push({ lease, entry })
    }
  }
  return {
    verdicts,
    rest,
    served,
    putBack: () => {
      for (const { lease, entry } of served) if (!lease.isOver) lease.left += entry.cost
    },
  }
}
