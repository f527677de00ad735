import type {
  Entry,
  Fit,
  SettlementMark,
  Store,
  StoreReply,
  StoreRequest,
} from '../stores/store.ts'
import { Block, Lease, RETURN_WITHIN_MS, type Moment } from './block.ts'
import { blockFit, blockSize, type Wanted } from './block-fit.ts'
import { requestId } from '../internal/random-id.ts'
import { isDenied, isOutdated } from '../stores/store.ts'
import { Holding, type BlockOnItsWay } from './holding.ts'
import { keepingMark } from '../reservations/mark.ts'
import { termsOf, type LeaseTerms } from './lease.ts'

/** A lease that has served an entry. */
export interface Served {
  readonly lease: Lease
  readonly entry: Entry
}

/** The request for a block of an entry whose lease is missing, used up or running low. */
interface BlockRequest {
  readonly entry: Entry
  readonly terms: LeaseTerms
  readonly holding: Holding
  readonly onItsWay: BlockOnItsWay
  readonly wanted: Wanted
  /** True if no decision uses a part of the block at once. */
  readonly isPrefetch: boolean
}

/** A decision's wait for blocks that others have requested. */
interface Wait {
  /** Resolves when all have ended, with false if one of them could not be had. */
  readonly ended: Promise<boolean>
  /** Ends the wait, once the decision goes on: until then, the next block is taken for it, too. */
  leave(): void
}

/** Blocks to request together with a decision of the store. */
export interface PendingBlocks {
  /** Identifies the charges. */
  readonly id: string
  readonly requests: readonly BlockRequest[]
  readonly mark?: SettlementMark
  readonly fit?: Fit
  /** The time for which they may be held open, in milliseconds. */
  readonly heldMs: number
}

/** Idle holdings to drop at once: each may give units back by a request. */
const MAX_SWEPT = 8

/** All leases of a process over one store, by key. Plain data, which requests of a Worker can share. */
export class LeaseBook {
  readonly #store: Store
  readonly #max: number
  /** In the order in which they were last requested. */
  readonly #holdings = new Map<string, Holding>()

  constructor(store: Store, max: number) {
    this.#store = store
    this.#max = max
  }

  /** Returns the lease that can serve the cost of this entry, to a call that holds its block for `heldMs`. */
  find(entry: Entry, heldMs: number, now: Moment): Lease | undefined {
    const lease = this.#holdings.get(entry.key)?.find(entry, now)
    return lease && now.steady + heldMs <= lease.block.heldUntil ? lease : undefined
  }

  /** Requests blocks for those entries that have no lease, or a used one, and no request under way. */
  requestBlocks({ entries, id, startedAt }: StoreRequest, now: Moment): PendingBlocks {
    this.#sweep(now)
    const requests = entries.flatMap((entry): BlockRequest[] => {
      const terms = termsOf(entry.policy)
      if (!terms || !entry.enforced) return []
      const holding = this.#keep(entry.key, terms, now)
      const onItsWay = holding.take(terms, startedAt, now)
      if (!onItsWay) return []
      return [{ entry, terms, holding, onItsWay, wanted: holding.wanted, isPrefetch: false }]
    })
    return blocksFor(requests, id)
  }

  /** Requests blocks for calls, beside the request of the decision itself. Each is held for `heldMs` at most. */
  requestForCalls(
    entries: readonly Entry[],
    heldMs: number,
    startedAt: number,
    now: Moment,
  ): PendingBlocks {
    this.#sweep(now)
    const requests = entries.flatMap((entry): BlockRequest[] => {
      const terms = termsOf(entry.policy)
      if (!terms) return []
      const holding = this.#keep(entry.key, terms, now)
      holding.heldMs = Math.max(holding.heldMs, heldMs)
      // A lease from before the first of such calls serves others until it is over.
      const mayTake = holding.hasPlenty(entry, now) && !holding.find(entry, now)
      const onItsWay = mayTake && holding.take(terms, startedAt, now)
      if (!onItsWay) return []
      return [{ entry, terms, holding, onItsWay, wanted: holding.wanted, isPrefetch: true }]
    })
    return blocksFor(requests, requestId())
  }

  /**
   * Returns a wait for the blocks that these entries lack, or `undefined` if one of them is not on its way, or may
   * come after the deadline of a decision that began at `startedAt`.
   */
  waitFor(entries: readonly Entry[], startedAt: number, now: Moment): Wait | undefined {
    const holdings: Holding[] = []
    const blocks: Promise<boolean>[] = []
    for (const { key, enforced } of entries) {
      const holding = enforced ? this.#holdings.get(key) : undefined
      const block = holding?.onItsWay(startedAt, now)
      if (!holding || !block) return undefined
      holdings.push(holding)
      blocks.push(block.ended)
    }
    if (holdings.length === 0) return undefined
    for (const holding of holdings) holding.waiting += 1
    return {
      ended: Promise.all(blocks).then((ended) => ended.every(Boolean)),
      leave: () => {
        for (const holding of holdings) holding.waiting -= 1
      },
    }
  }

  /** Requests blocks to follow the leases that serve these entries. */
  prefetch(served: readonly Served[], startedAt: number, now: Moment): PendingBlocks {
    const requests = served.flatMap(({ lease, entry }): BlockRequest[] => {
      const terms = termsOf(entry.policy)
      const holding = this.#holdings.get(entry.key)
      if (!terms || !holding) return []
      const onItsWay = holding.fetchAhead(lease, terms, startedAt, now)
      if (!onItsWay) return []
      this.#keep(entry.key, terms, now)
      return [{ entry, terms, holding, onItsWay, wanted: holding.wanted, isPrefetch: true }]
    })
    return blocksFor(requests, requestId())
  }

  /** Ends the request for blocks, with the reply if there is one. */
  finish(
    { requests, fit, heldMs }: PendingBlocks,
    request: StoreRequest,
    reply: StoreReply | undefined,
    taken: Moment,
  ): void {
    const { verdicts = [], values = [], granted, degraded } = reply ?? {}
    const isCharged =
      request.apply &&
      !degraded &&
      verdicts.length > 0 &&
      !isDenied(request.entries, verdicts) &&
      !isOutdated(request.reads, values)
    const block = new Block(this.#store, request, taken.steady + heldMs)
    const late: Lease[] = []
    for (const { entry, terms, holding, onItsWay, wanted, isPrefetch } of requests) {
      const verdict = verdicts[request.entries.indexOf(entry)]
      const isKept = this.#holdings.get(entry.key) === holding
      if (!reply) holding.lose()
      if (verdict?.fits === false) holding.deny(terms, taken)
      holding.end(onItsWay, isCharged && isKept)
      if (!verdict || !isCharged || holding.isForgotten) continue
      const { cost } = entry
      // A store that does not know `fit` has charged one decision.
      const isBlock = fit !== undefined && granted !== undefined
      const units = cost * (isBlock ? blockSize(wanted, cost, verdict.available) : 1)
      const used = isPrefetch ? 0 : cost
      const { durationMs, isAligned } = terms
      // Less a millisecond, because stores count whole ones.
      const lastsMs = (isAligned ? Math.min(durationMs, verdict.resetMs) : durationMs) - 1
      const countedMs = isAligned ? verdict.resetMs : (entry.params[0] ?? 0)
      const lease = new Lease({ entry, verdict, units, used, block, taken, lastsMs, countedMs })
      if (isKept) holding.add(lease)
      else late.push(lease)
    }
    // All units were to be given back, or there were too many leases. A block is given back with the last of its own.
    for (const lease of late) void lease.end()
  }

  /** Drops the leases of these keys. The store has forgotten their units. */
  drop(keys: readonly string[]): void {
    for (const key of keys) {
      const holding = this.#holdings.get(key)
      if (!holding) continue
      holding.isForgotten = true
      for (const lease of holding.leases) {
        lease.left = 0
        lease.isForgotten = true
      }
      this.#remove(key, holding)
    }
  }

  /** Ends every lease. Resolves when their units are back, or could not be given back. */
  async close(): Promise<void> {
    const leases = [...this.#holdings.values()].flatMap((holding) => holding.leases)
    this.#holdings.clear()
    await Promise.allSettled(leases.flatMap((lease) => lease.end() ?? []))
  }

  /** Moves the leases of a key to the end of the order, and drops the first if they are too many. */
  #keep(key: string, { durationMs }: LeaseTerms, now: Moment): Holding {
    const holding = this.#holdings.get(key) ?? new Holding(now)
    holding.idleAfter = now.steady + 2 * durationMs
    this.#holdings.delete(key)
    this.#holdings.set(key, holding)
    const [first] = this.#holdings
    if (first && this.#holdings.size > this.#max) this.#remove(...first)
    return holding
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

  #remove(key: string, { leases }: Holding): void {
    this.#holdings.delete(key)
    for (const lease of leases) void lease.end()
  }
}

function blocksFor(requests: readonly BlockRequest[], id: string): PendingBlocks {
  const callMs = Math.max(0, ...requests.map(({ holding }) => holding.heldMs))
  const heldMs = callMs + Math.max(0, ...requests.map(({ terms }) => terms.durationMs))
  const isOne = ({ wanted: { ahead, waiting } }: BlockRequest): boolean => ahead + waiting === 1
  if (callMs === 0 && requests.every(isOne)) return { id, requests, heldMs }
  const wanted = Object.fromEntries(requests.map(({ entry, wanted: own }) => [entry.index, own]))
  const mark = keepingMark(id, heldMs + RETURN_WITHIN_MS)
  return { id, requests, heldMs, mark, fit: blockFit(wanted) }
}
