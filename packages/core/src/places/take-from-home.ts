/* Units of home for one decision that no lease serves. */
import type { Entry, StoreRequest, Verdict } from '../stores/store.ts'
import type { PlaceDecision } from './place-decision.ts'
import type { VerdictsOfHome } from './verdicts-of-home.ts'
import { requestId } from '../internal/random-id.ts'
import { Lease, RETURN_WITHIN_MS, type Moment } from '../leases/block.ts'
import { termsOf, type LeaseTerms } from '../leases/lease.ts'
import type { LeaseBook, Served } from '../leases/lease-book.ts'
import { chargedAt } from '../leases/local-part.ts'
import { keepingMark } from '../reservations/mark.ts'
import { isDenied } from '../stores/store.ts'

/** The part of a decision that home counts: its verdicts, and the leases that serve the entries that fit. */
export interface HomePart {
  /** By the positions of the policies. */
  readonly verdicts: ReadonlyMap<number, Verdict>
  readonly served: readonly Served[]
  /** The leases that were taken for this decision only. */
  readonly ownLeases: readonly Lease[]
  readonly isDenied: boolean
  /** The most to grant to a request with a `fit`. */
  readonly granted: number
  /** The last to decide: leases, or home if it was asked. */
  readonly source: 'lease' | 'store'
  /** The time of the last answer (epoch ms). */
  readonly decidedAt: number
}

/**
 * Takes a block for one decision alone, with as much as home grants.
 *
 * @param part The part that leases serve.
 * @param rest The entries that no lease serves.
 */
export async function takeFromHome(
  book: LeaseBook,
  verdictsOfHome: VerdictsOfHome,
  { request, atHome: { apply }, heldMs }: PlaceDecision,
  part: HomePart,
  rest: readonly Entry[],
  now: Moment,
): Promise<HomePart> {
  const id = requestId()
  // At the floor of a `fit`: home grants more by itself.
  const entries = request.entries.filter(({ index }) => rest.some((entry) => entry.index === index))
  const mark = keepingMark(id, heldMs + RETURN_WITHIN_MS)
  const blockRequest: StoreRequest = { ...request, entries, apply, reads: [], id, mark }
  const reply = await verdictsOfHome.ask(blockRequest, request.apply && !apply)
  const { verdicts, granted, now: answeredAt } = reply
  const found: HomePart = {
    ...part,
    verdicts: new Map([...part.verdicts, ...verdictsOf(entries, verdicts)]),
    isDenied: isDenied(entries, verdicts),
    granted: Math.min(part.granted, granted ?? part.granted),
    ...(answeredAt !== undefined && { source: 'store', decidedAt: answeredAt }),
  }
  if (found.isDenied || !apply) return found
  const block = book.open(blockRequest, heldMs, now)
  const served = chargedAt(blockRequest, verdicts, granted).flatMap((entry, at): Served[] => {
    const { durationMs, isAligned } = termsOf(entry.policy) as LeaseTerms
    const verdict = verdicts[at] as Verdict
    const { cost: units } = entry
    // A shadow that did not fit.
    if (units > 0 && !verdict.charged) return []
    const countedMs = isAligned ? verdict.resetMs : (entry.params[0] ?? 0)
    const facts = { entry, verdict, units, used: units, block, taken: now, lastsMs: durationMs }
    return [{ lease: new Lease({ ...facts, countedMs }), entry }]
  })
  const ownLeases = served.map(({ lease }) => lease)
  return { ...found, served: [...part.served, ...served], ownLeases }
}

/** Returns verdicts by the positions of their policies. */
export const verdictsOf = (
  entries: readonly Entry[],
  verdicts: readonly (Verdict | undefined)[],
): ReadonlyMap<number, Verdict> =>
  new Map(
    entries.flatMap(({ index }, at) => {
      const verdict = verdicts[at]
      return verdict ? [[index, verdict] as const] : []
    }),
  )
