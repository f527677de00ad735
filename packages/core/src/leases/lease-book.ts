import type { Entry, Store, StoreReply, StoreRequest } from '../stores/store.ts'
import { blocksFor, type BlockRequest, type PendingBlocks } from './block-requests.ts'
import { Block, Lease, type Moment } from './block.ts'
import { blockSize } from './block-fit.ts'
import { requestId } from '../internal/random-id.ts'
import { isDenied, isOutdated } from '../stores/store.ts'
import { KeyLeases } from './key-leases.ts'
import { termsOf, type LeaseTerms } from './lease.ts'

/** A lease that has served an entry. */
export interface Served {
  readonly lease: Lease
  readonly entry: Entry
}

/** A decision's wait for blocks that others have requested. */
interface Wait {
  /** Resolves when all have ended, with false if one of them could not be had. */
  readonly ended: Promise<boolean>
  /** Ends the wait, once the decision goes on: until then, the next block is taken for it, too. */
  leave(): void
}

/** The most keys with idle leases to drop at once: each may give units back by a request. */
const MAX_SWEPT = 8

/** All leases of a process over one store, by key. Plain data, which requests of a Worker can share. */
export class LeaseBook {
  readonly #store: Store
  readonly #max: number
  /** In the order in which they were last requested. */
  readonly #byKey = new Map<string, KeyLeases>()
  /** Blocks that are not back yet, also those of leases that are over. */
  readonly #open = new Set<Block>()

  constructor(store: Store, max: number) {
    this.#store = store
    this.#max = max
  }

  /** Returns the lease that can serve the cost of this entry, to a call that holds its block for `heldMs`. */
  find(entry: Entry, heldMs: number, now: Moment): Lease | undefined {
    const lease = this.#byKey.get(entry.key)?.find(entry, now)
    return lease && now.steady + heldMs <= lease.block.heldUntil ? lease : undefined
  }

  /** Requests blocks for those entries that have no lease, or a used one, and no request under way. */
  requestBlocks({ entries, id, startedAt }: StoreRequest, now: Moment): PendingBlocks {
    this.#sweep(now)
    const requests = entries.flatMap((entry): BlockRequest[] => {
      const terms = termsOf(entry.policy)
      if (!terms || !entry.enforced) return []
      const keyLeases = this.#keep(entry.key, terms, now)
      const onItsWay = keyLeases.take(terms, startedAt, now)
      if (!onItsWay) return []
      return [{ entry, terms, keyLeases, onItsWay, wanted: keyLeases.wanted, isPrefetch: false }]
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
      const keyLeases = this.#keep(entry.key, terms, now)
      keyLeases.heldMs = Math.max(keyLeases.heldMs, heldMs)
      // A lease from before the first of such calls serves others until it is over.
      const mayTake = keyLeases.hasPlenty(entry, now) && !keyLeases.find(entry, now)
      const onItsWay = mayTake && keyLeases.take(terms, startedAt, now)
      if (!onItsWay) return []
      return [{ entry, terms, keyLeases, onItsWay, wanted: keyLeases.wanted, isPrefetch: true }]
    })
    return blocksFor(requests, requestId())
  }

  /**
   * Returns a wait for the blocks that these entries lack, or `undefined` if one of them is not on its way, or may
   * come after the deadline of a decision that began at `startedAt`.
   */
  waitFor(entries: readonly Entry[], startedAt: number, now: Moment): Wait | undefined {
    const awaited: KeyLeases[] = []
    const blocks: Promise<boolean>[] = []
    for (const { key, enforced } of entries) {
      const keyLeases = enforced ? this.#byKey.get(key) : undefined
      const block = keyLeases?.onItsWay(startedAt, now)
      if (!keyLeases || !block) return undefined
      awaited.push(keyLeases)
      blocks.push(block.ended)
    }
    if (awaited.length === 0) return undefined
    for (const keyLeases of awaited) keyLeases.waiting += 1
    return {
      ended: Promise.all(blocks).then((ended) => ended.every(Boolean)),
      leave: () => {
        for (const keyLeases of awaited) keyLeases.waiting -= 1
      },
    }
  }

  /** Requests blocks to follow the leases that serve these entries. */
  prefetch(served: readonly Served[], startedAt: number, now: Moment): PendingBlocks {
    const requests = served.flatMap(({ lease, entry }): BlockRequest[] => {
      const terms = termsOf(entry.policy)
      const keyLeases = this.#byKey.get(entry.key)
      if (!terms || !keyLeases) return []
      const onItsWay = keyLeases.fetchAhead(lease, terms, startedAt, now)
      if (!onItsWay) return []
      this.#keep(entry.key, terms, now)
      return [{ entry, terms, keyLeases, onItsWay, wanted: keyLeases.wanted, isPrefetch: true }]
    })
    return blocksFor(requests, requestId())
  }

  /** Opens a block of units that a request has charged. */
  open(request: StoreRequest, heldMs: number, taken: Moment): Block {
    // Those of requests that were cut off.
    for (const block of this.#open) {
      if (taken.steady <= block.heldUntil) break
      this.#open.delete(block)
    }
    return new Block(this.#store, request, taken.steady + heldMs, this.#open)
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
    const block = this.open(request, heldMs, taken)
    const late: Lease[] = []
    for (const { entry, terms, keyLeases, onItsWay, wanted, isPrefetch } of requests) {
      const verdict = verdicts[request.entries.indexOf(entry)]
      const isKept = this.#byKey.get(entry.key) === keyLeases
      if (!reply) keyLeases.lose()
      if (verdict?.fits === false) keyLeases.deny(terms, taken)
      keyLeases.end(onItsWay, isCharged && isKept)
      if (!verdict || !isCharged || keyLeases.isForgotten) continue
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
      if (isKept) keyLeases.add(lease)
      else late.push(lease)
    }
    // All units were to be given back, or there were too many leases. A block is given back with the last of its own.
    for (const lease of late) lease.end()
  }

  /** Drops the leases of these keys. The store has forgotten their units. */
  drop(keys: readonly string[]): void {
    for (const { leases } of this.#open) {
      for (const lease of leases) if (keys.includes(lease.entry.key)) lease.forget()
    }
    for (const key of keys) {
      const keyLeases = this.#byKey.get(key)
      if (!keyLeases) continue
      keyLeases.isForgotten = true
      this.#remove(key, keyLeases)
    }
  }

  /**
   * Ends every lease. Resolves when their units are back, or could not be given back. Decisions under way do not hold
   * them up, and what these put back later stays charged; calls in flight hold theirs.
   */
  async close(): Promise<void> {
    for (const [key, keyLeases] of this.#byKey) this.#remove(key, keyLeases)
    for (const block of this.#open) block.close()
    await Promise.allSettled([...this.#open].flatMap(({ returning }) => returning ?? []))
  }

  /** Moves the leases of a key to the end of the order, and drops the first if they are too many. */
  #keep(key: string, { durationMs }: LeaseTerms, now: Moment): KeyLeases {
    const keyLeases = this.#byKey.get(key) ?? new KeyLeases(now)
    keyLeases.idleAfter = now.steady + 2 * durationMs
    this.#byKey.delete(key)
    this.#byKey.set(key, keyLeases)
    const [first] = this.#byKey
    if (first && this.#byKey.size > this.#max) this.#remove(...first)
    return keyLeases
  }

  /** Drops the leases of the first keys as long as they are idle. */
  #sweep(now: Moment): void {
    let swept = 0
    for (const [key, keyLeases] of this.#byKey) {
      if (now.steady < keyLeases.idleAfter || swept === MAX_SWEPT) return
      this.#remove(key, keyLeases)
      swept += 1
    }
  }

  #remove(key: string, { leases }: KeyLeases): void {
    this.#byKey.delete(key)
    for (const lease of leases) lease.end()
  }
}
