/* Units of home for one decision that no lease serves. */
import type { Entry, Store, StoreRequest, Verdict } from '../stores/store.ts'
import type { HomeVerdicts } from './home-verdicts.ts'
import { requestId } from '../internal/random-id.ts'
import { Block, Lease, RETURN_WITHIN_MS, type Moment } from '../leases/block.ts'
import { termsOf, type LeaseTerms } from '../leases/lease.ts'
import type { Served } from '../leases/lease-book.ts'
import { chargedAt } from '../leases/reserving.ts'
import { keepingMark } from '../reservations/mark.ts'
import { isDenied } from '../stores/store.ts'

/** The verdicts of home on entries, and the leases that serve those that fit. */
export interface Away {
  readonly verdicts: ReadonlyMap<number, Verdict>
  readonly served: readonly Served[]
  /** The leases that were taken for this decision only. */
  readonly alone: readonly Lease[]
  readonly isDenied: boolean
  /** The most to grant to a request with a `fit`. */
  readonly most: number
  /** Who decided last: leases, or home if it was asked. */
  readonly source: 'lease' | 'store'
  /** The time (epoch ms) at which that was. */
  readonly decidedAt: number
}

/**
 * Takes a block for one decision alone, with as much as home grants.
 *
 * @param away What leases serve of it.
 * @param rest The entries that none serves.
 */
export async function takeAlone(
  home: Store,
  known: HomeVerdicts,
  away: Away,
  rest: readonly Entry[],
  request: StoreRequest,
  apply: boolean,
  { heldMs, now }: { readonly heldMs: number; readonly now: Moment },
): Promise<Away> {
  const id = requestId()
  const entries = request.entries.filter(({ index }) => rest.some((entry) => entry.index === index))
  const asked: StoreRequest = {
    ...request,
    entries,
    apply,
    reads: [],
    id,
    mark: keepingMark(id, heldMs + RETURN_WITHIN_MS),
  }
  const { verdicts, granted, now: askedAt } = await known.ask(asked, request.apply && !apply)
  const both = new Map([...away.verdicts, ...verdictsOf(entries, verdicts)])
  const found: Away = {
    ...away,
    verdicts: both,
    isDenied: isDenied(entries, verdicts),
    most: Math.min(away.most, granted ?? away.most),
    ...(askedAt !== undefined && { source: 'store', decidedAt: askedAt }),
  }
  if (found.isDenied || !apply) return found
  const block = new Block(home, asked, now.steady + heldMs)
  const served = chargedAt(asked, verdicts, granted).flatMap((entry, at): Served[] => {
    const { durationMs, isAligned } = termsOf(entry.policy) as LeaseTerms
    const verdict = verdicts[at] as Verdict
    const { cost: units } = entry
    // A shadow that did not fit.
    if (units > 0 && !verdict.charged) return []
    const countedMs = isAligned ? verdict.resetMs : (entry.params[0] ?? 0)
    const facts = { entry, verdict, units, used: units, block, taken: now, lastsMs: durationMs }
    return [{ lease: new Lease({ ...facts, countedMs }), entry }]
  })
  const alone = served.map(({ lease }) => lease)
  return { ...found, served: [...away.served, ...served], alone }
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
