import type { Entry, StoreReply, StoreRequest, Verdict } from '../stores/store.ts'
import { isDenied, isOutdated } from '../stores/store.ts'
import type { Moment } from './block.ts'
import type { LeaseBook, Served } from './lease-book.ts'
import { isLeased } from './lease.ts'

/** The part of a decision that leases serve. */
export interface LocalPart {
  /** One for each entry, in the order of the request: `undefined` if no lease serves it. */
  readonly verdicts: readonly (Verdict | undefined)[]
  /** The entries that no lease serves. */
  readonly rest: readonly Entry[]
  /** The leases that have charged their part. */
  readonly served: readonly Served[]
}

/**
 * Serves the entries whose leases hold their cost. Awaits nothing, so that no other decision takes the
 * same units.
 */
export function serveLocally(
  book: LeaseBook,
  { entries, apply }: Pick<StoreRequest, 'entries' | 'apply'>,
  heldMs: number,
  now: Moment,
): LocalPart {
  const verdicts: (Verdict | undefined)[] = []
  const rest: Entry[] = []
  const served: Served[] = []
  for (const entry of entries) {
    const { cost } = entry
    const lease = isLeased(entry) ? book.find(entry, heldMs, now) : undefined
    verdicts.push(lease?.verdict(cost, apply, now))
    if (!lease) {
      rest.push(entry)
    } else if (apply && (cost > 0 || heldMs > 0)) {
      lease.left -= cost
      served.push({ lease, entry })
    }
  }
  return { verdicts, rest, served }
}

/** Returns units to their leases, because the decision is not allowed. */
export function putBack(served: readonly Served[]): void {
  for (const { lease, entry } of served) lease.putBack(entry.cost)
}

/** Returns the entries of a request with the cost of the quantity that is granted. */
export const chargedAt = (
  { entries, fit }: StoreRequest,
  verdicts: readonly Verdict[],
  granted: number | undefined,
): readonly Entry[] => fit?.kind.charge(fit, entries, { verdicts, granted }) ?? entries

/** Returns the served entries with their final cost, and gives the rest back to the leases. */
export const atFinalCost = (served: readonly Served[], charged: readonly Entry[]): Served[] =>
  served.map(({ lease, entry }) => {
    const final = charged.find(({ index }) => index === entry.index) ?? entry
    lease.putBack(entry.cost - final.cost)
    return { lease, entry: final }
  })

const NO_VALUES: readonly undefined[] = []

/** Decides what leases have not served, by `decide`. Puts their units back if that does not allow it. */
export async function decideRest(
  local: LocalPart,
  reads: StoreRequest['reads'],
  now: Moment,
  decide: () => Promise<StoreReply>,
): Promise<[reply: StoreReply, isAllowed: boolean]> {
  const { verdicts, rest } = local
  if (rest.length + reads.length === 0) {
    const whole = verdicts as Verdict[]
    return [{ source: 'lease', now: now.wall, verdicts: whole, values: NO_VALUES }, true]
  }
  return holding(local.served, async () => {
    let isAllowed = false
    try {
      const reply = await decide()
      // A store that decided without counting gives no verdicts.
      const isWhole = reply.verdicts.length === rest.length
      isAllowed = isWhole && !isDenied(rest, reply.verdicts) && !isOutdated(reads, reply.values)
      const whole = isWhole ? merge(verdicts, reply.verdicts, isAllowed) : reply.verdicts
      return [{ ...reply, verdicts: whole }, isAllowed]
    } finally {
      if (!isAllowed) putBack(local.served)
    }
  })
}

/** Keeps the blocks of these leases open during `work`: units that are put back later than that are lost. */
export async function holding<Result>(
  served: readonly Served[],
  work: () => Promise<Result>,
): Promise<Result> {
  for (const { lease } of served) lease.block.begin()
  try {
    return await work()
  } finally {
    for (const { lease } of served) lease.block.finish()
  }
}

/** Puts the verdicts of the store where no lease has given one. */
function merge(
  local: readonly (Verdict | undefined)[],
  stored: readonly Verdict[],
  isAllowed: boolean,
): Verdict[] {
  let next = 0
  return local.map((verdict) => {
    if (!verdict) return stored[next++] as Verdict
    return isAllowed ? verdict : { ...verdict, charged: false }
  })
}
