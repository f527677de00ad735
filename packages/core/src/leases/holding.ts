import type { Entry } from '../stores/store.ts'
import type { Lease, Moment } from './block.ts'
import type { LeaseTerms } from './lease.ts'

/** The leases of one key: the one that serves, and the one to serve after it. */
export class Holding {
  /** The decisions to take the next block for. */
  size = 1
  /**
   * True while a block is fetched ahead. For good if a platform cuts that request off with the response of
   * its decision: then decisions take all blocks themselves.
   */
  isFetching = false
  /** The time after which nobody needs it, by the steady clock. */
  idleAfter: number
  #lease: Lease | undefined
  #next: Lease | undefined
  /** The request that is asking for a block, … */
  #asking: string | undefined
  /** … until it may be given up: a request that was cut off never says so. */
  #askingUntil = 0

  constructor({ steady }: Moment) {
    this.idleAfter = steady
  }

  get leases(): Lease[] {
    return [this.#lease, this.#next].filter((lease) => lease !== undefined)
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
      void lease.end()
    }
    return undefined
  }

  /** Lets the request `id` ask for a block. Returns false if another is asking. */
  ask(id: string, { durationMs, most }: LeaseTerms, { steady }: Moment): boolean {
    if (this.#asking !== undefined && steady < this.#askingUntil) return false
    // Used up before its end: the traffic is faster than the block was for.
    if (this.#lease) this.size *= 2
    this.size = Math.min(this.size, most)
    this.#asking = id
    this.#askingUntil = steady + durationMs
    return true
  }

  /** Lets a block be fetched to follow the lease. Returns false if there is one, or it is on its way. */
  askAhead(lease: Lease, { most }: LeaseTerms, now: Moment): boolean {
    lease.isFollowed = true
    if (this.#next || this.isFetching) return false
    this.isFetching = true
    if (lease.left * 2 > lease.units) this.#shrink(lease)
    else if (!lease.isHalfOver(now)) this.size = Math.min(this.size * 2, most)
    return true
  }

  /** Ends the asking of the request `id`. */
  answer(id: string): void {
    if (this.#asking === id) this.#asking = undefined
  }

  /** Adds a lease, to serve once the present one is used up. */
  add(lease: Lease): void {
    const isServing = this.#lease !== undefined && this.#lease.left > 0
    const replaced = isServing ? this.#next : this.#lease
    if (isServing) this.#next = lease
    else this.#lease = lease
    void replaced?.end()
  }

  /** Halves the size of blocks if half of this one was not needed. */
  #shrink({ left, units }: Lease): void {
    if (left * 2 >= units) this.size = Math.max(1, this.size >> 1)
  }
}
