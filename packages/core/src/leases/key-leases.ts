import type { Entry } from '../stores/store.ts'
import type { Lease, Moment } from './block.ts'
import type { Wanted } from './block-fit.ts'
import type { LeaseTerms } from './lease.ts'

/** A request for a block that is on its way. */
export interface BlockOnItsWay {
  /** The time (epoch ms) from which the deadline of the request counts. */
  readonly startedAt: number
  /** The time after which it may be given up, by the steady clock: one that was cut off never ends. */
  readonly until: number
  /** Resolves when it has ended, with true if there is a block. */
  readonly ended: Promise<boolean>
  readonly end: (hasBlock: boolean) => void
}

/** A limit of fewer calls than this is too small to take blocks for reservations. */
const FEW = 16

/** The leases of one key: the one that serves, and the one to serve after it. */
export class KeyLeases {
  /** The decisions for which the next block is taken, beside those that wait for it. */
  #size = 1
  /** The decisions that wait for a block. */
  waiting = 0
  /** The block that a decision takes. */
  #taken: BlockOnItsWay | undefined
  /**
   * The block that is fetched ahead. For good if a platform cuts that request off with the response of its
   * decision: then decisions take all blocks themselves.
   */
  #fetched: BlockOnItsWay | undefined
  /** The time before which no block is to be had, by the steady clock. */
  #deniedUntil = 0
  /** The time after which nobody needs it, by the steady clock. */
  idleAfter: number
  /** The longest time for which calls hold its blocks open, in milliseconds. */
  heldMs = 0
  /** True once the store has forgotten its units, also those that are on their way. */
  isForgotten = false
  #lease: Lease | undefined
  #next: Lease | undefined

  constructor({ steady }: Moment) {
    this.idleAfter = steady
  }

  get leases(): Lease[] {
    return [this.#lease, this.#next].filter((lease) => lease !== undefined)
  }

  get wanted(): Wanted {
    return { ahead: this.#size, waiting: this.waiting }
  }

  /** Returns a block that comes by the deadline of a decision that began at `startedAt`, or not at all. */
  onItsWay(startedAt: number, now: Moment): BlockOnItsWay | undefined {
    return [this.#taken, this.#fetched].find(
      (block) => isYoung(block, now) && block.startedAt <= startedAt,
    )
  }

  /** Returns the lease that can serve the cost. Ends those that are over, or of another limit. */
  find({ limit, cost }: Entry, now: Moment): Lease | undefined {
    while (this.#lease) {
      const lease = this.#lease
      const isSame = lease.entry.limit === limit
      const isUsable = isSame && lease.isValid(now)
      if (isUsable && lease.left >= cost) return lease
      // Kept, to be known as used up.
      if (isUsable && !this.#next) return undefined
      if (isSame && !isUsable && !lease.isFollowed) this.#shrink(lease)
      this.#lease = this.#next
      this.#next = undefined
      lease.end()
    }
    return undefined
  }

  /** Returns false if blocks for calls at this cost are not worth a round trip. */
  hasPlenty({ limit, cost }: Entry, { steady }: Moment): boolean {
    return steady >= this.#deniedUntil && limit >= FEW * cost
  }

  /** Starts to take a block with a decision. Returns `undefined` if another decision does. */
  take(terms: LeaseTerms, startedAt: number, now: Moment): BlockOnItsWay | undefined {
    if (isYoung(this.#taken, now)) return undefined
    // Used up before its end: the traffic is faster than the block was for.
    if (this.#lease) this.#size *= 2
    return (this.#taken = this.#start(terms, startedAt, now))
  }

  /** Starts to fetch the block that follows the lease. Returns `undefined` if there is one, or it is on its way. */
  fetchAhead(
    lease: Lease,
    terms: LeaseTerms,
    startedAt: number,
    now: Moment,
  ): BlockOnItsWay | undefined {
    lease.isFollowed = true
    if (this.#next || this.#fetched || isYoung(this.#taken, now)) return undefined
    if (lease.left * 2 > lease.units) this.#shrink(lease)
    else if (!lease.isHalfOver(now)) this.#size *= 2
    return (this.#fetched = this.#start(terms, startedAt, now))
  }

  #start({ durationMs, most }: LeaseTerms, startedAt: number, { steady }: Moment): BlockOnItsWay {
    this.#size = Math.min(this.#size, most)
    let end!: BlockOnItsWay['end']
    const ended = new Promise<boolean>((resolve) => (end = resolve))
    return { startedAt, until: steady + durationMs, ended, end }
  }

  /** Notes that there was no block to be had. */
  deny({ durationMs }: LeaseTerms, { steady }: Moment): void {
    this.#deniedUntil = steady + durationMs
  }

  /** Notes that the reply to a request for a block was lost: all of it may be charged, and the next may be lost, too. */
  lose(): void {
    this.#size = 1
  }

  /** Ends a request for a block. */
  end(block: BlockOnItsWay, hasBlock: boolean): void {
    if (this.#taken === block) this.#taken = undefined
    if (this.#fetched === block) this.#fetched = undefined
    block.end(hasBlock)
  }

  /** Adds a lease, to serve once the present one is used up. */
  add(lease: Lease): void {
    const isServing = this.#lease !== undefined && this.#lease.left > 0
    const replaced = isServing ? this.#next : this.#lease
    if (isServing) this.#next = lease
    else this.#lease = lease
    replaced?.end()
  }

  /** Halves the size of blocks if half of this one was not needed. */
  #shrink({ left, units }: Lease): void {
    if (left * 2 >= units) this.#size = Math.max(1, this.#size >> 1)
  }
}

const isYoung = (block: BlockOnItsWay | undefined, { steady }: Moment): block is BlockOnItsWay =>
  block !== undefined && steady < block.until
