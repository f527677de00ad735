import type {
  Entry,
  Fit,
  SettlementMark,
  Store,
  StoreReply,
  StoreRequest,
} from '../stores/store.ts'
import { Block, blockMark, Lease, type Moment } from './block.ts'
import { blockFit, blockSize } from './block-fit.ts'
import { termsOf, type LeaseTerms } from './lease.ts'

/** The leases of one key. */
interface Holding {
  lease: Lease | undefined
  /** The decisions to take the next block for. */
  size: number
  /** The request that is asking for a block, … */
  asking: string | undefined
  /** … until it may be given up: a request that was cut off never says so. */
  askingUntil: number
  /** The time after which nobody needs it, by the steady clock. */
  idleAfter: number
}

/** A part of a request: an entry of a leased policy whose lease is missing or used up. */
interface Ask {
  readonly entry: Entry
  readonly terms: LeaseTerms
  readonly holding: Holding
  readonly wanted: number
}

/** Blocks to take along with a request to the store. */
export interface BlockRequest {
  readonly asks: readonly Ask[]
  readonly mark?: SettlementMark
  readonly fit?: Fit
}

/** Idle holdings to drop at once: each may give units back by a request. */
const MAX_SWEPT = 8

/** All leases of a process over one store, by key. Plain data, which requests of a Worker can share. */
export class LeaseBook {
  readonly #store: Store
  readonly #max: number
  /** In the order in which the store was last asked for them. */
  readonly #holdings = new Map<string, Holding>()

  constructor(store: Store, max: number) {
    this.#store = store
    this.#max = max
  }

  /** Returns the lease that can serve the cost of this entry. Ends one that is over, or of another limit. */
  find({ key, limit, cost }: Entry, now: Moment): Lease | undefined {
    const holding = this.#holdings.get(key)
    const lease = holding?.lease
    if (!holding || !lease) return undefined
    const isSame = lease.entry.limit === limit
    if (isSame && lease.isValid(now)) return lease.left >= cost ? lease : undefined
    // Half of it was not needed.
    if (isSame && lease.left * 2 >= lease.units) holding.size = Math.max(1, holding.size >> 1)
    holding.lease = undefined
    void lease.end()
    return undefined
  }

  /** Prepares blocks for those entries that have no lease, or a used one, and for which nobody is asking. */
  ask(entries: readonly Entry[], id: string, now: Moment): BlockRequest {
    this.#sweep(now)
    const asks = entries.flatMap((entry) => this.#askFor(entry, id, now) ?? [])
    if (asks.every(({ wanted }) => wanted === 1)) return { asks }
    const wanted = new Map(asks.map(({ entry, wanted: count }) => [entry.index, count]))
    const longest = Math.max(...asks.map(({ terms }) => terms.durationMs))
    return { asks, mark: blockMark(id, longest), fit: blockFit(wanted) }
  }

  #askFor(entry: Entry, id: string, now: Moment): Ask | undefined {
    const terms = termsOf(entry.policy)
    if (!terms || !entry.enforced) return undefined
    const { durationMs, most } = terms
    const holding = this.#holdings.get(entry.key) ?? this.#open(entry.key, now)
    this.#moveToEnd(entry.key, holding)
    if (holding.asking !== undefined && now.steady < holding.askingUntil) return undefined
    // Used up before its end: the traffic is faster than the block was for.
    if (holding.lease) holding.size *= 2
    holding.size = Math.min(holding.size, most)
    holding.asking = id
    holding.askingUntil = now.steady + durationMs
    holding.idleAfter = now.steady + 2 * durationMs
    return { entry, terms, holding, wanted: holding.size }
  }

  /** Ends the request for blocks, with the reply if there is one that charged them. */
  finish(
    { asks, fit }: BlockRequest,
    request: StoreRequest,
    reply: StoreReply | undefined,
    taken: Moment,
  ): void {
    for (const { holding } of asks) if (holding.asking === request.id) holding.asking = undefined
    if (!reply) return
    const block = new Block(this.#store, request)
    for (const { entry, terms, holding, wanted } of asks) {
      const verdict = reply.verdicts[request.entries.indexOf(entry)]
      // A reset has dropped it meanwhile: it may have removed the charge, too.
      if (!verdict?.fits || this.#holdings.get(entry.key) !== holding) continue
      const { cost } = entry
      // A store that does not know `fit` has charged one decision.
      const isBlock = fit !== undefined && reply.granted !== undefined
      const units = cost * (isBlock ? blockSize(wanted, cost, verdict.available) : 1)
      const { durationMs, isAligned } = terms
      // Less a millisecond, because stores count whole ones.
      const lastsMs = (isAligned ? Math.min(durationMs, verdict.resetMs) : durationMs) - 1
      const previous = holding.lease
      holding.lease = new Lease({ entry, verdict, units, block, taken, lastsMs })
      void previous?.end()
    }
  }

  /** Drops the leases of these keys. The store has forgotten their units. */
  drop(keys: readonly string[]): void {
    for (const key of keys) {
      const holding = this.#holdings.get(key)
      if (!holding) continue
      if (holding.lease) holding.lease.left = 0
      this.#remove(key, holding)
    }
  }

  /** Ends every lease. Resolves when their units are back, or could not be given back. */
  async close(): Promise<void> {
    const returning = [...this.#holdings.values()].flatMap(({ lease }) => lease?.end() ?? [])
    this.#holdings.clear()
    await Promise.allSettled(returning)
  }

  #open(key: string, now: Moment): Holding {
    const holding: Holding = {
      lease: undefined,
      size: 1,
      asking: undefined,
      askingUntil: 0,
      idleAfter: now.steady,
    }
    this.#holdings.set(key, holding)
    const [first] = this.#holdings
    if (first && this.#holdings.size > this.#max) this.#remove(...first)
    return holding
  }

  #moveToEnd(key: string, holding: Holding): void {
    this.#holdings.delete(key)
    this.#holdings.set(key, holding)
  }

  /** Drops the first holdings as long as they are idle. */
  #sweep(now: Moment): void {
    let swept = 0
    for (const [key, holding] of this.#holdings) {
      if (now.steady < holding.idleAfter || swept === MAX_SWEPT) return
      this.#remove(key, holding)
      swept += 1
    }
  }

  #remove(key: string, { lease }: Holding): void {
    this.#holdings.delete(key)
    void lease?.end()
  }
}
