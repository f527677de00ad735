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
  /** The id of the decision that is requesting a block. */
  #requestId: string | undefined
  /** The time after which that decision may be given up: one that was cut off never ends its request. */
  #requestedUntil = 0

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

  /** Starts the request of the decision `id` for a block. Returns false if there is one under way. */
  startRequest(id: string, { durationMs, most }: LeaseTerms, { steady }: Moment): boolean {
    if (this.#requestId !== undefined && steady < this.#requestedUntil) return false
    // Used up before its end: the traffic is faster than the block was for.
    if (this.#lease) this.size *= 2
    this.size = Math.min(this.size, most)
    this.#requestId = id
    this.#requestedUntil = steady + durationMs
    return true
  }

  /** Starts to fetch the block that follows the lease. Returns false if there is one, or it is on its way. */
  prefetch(lease: Lease, { most }: LeaseTerms, now: Moment): boolean {
    lease.isFollowed = true
    if (this.#next || this.isFetching) return false
    this.isFetching = true
    if (lease.left * 2 > lease.units) this.#shrink(lease)
    else if (!lease.isHalfOver(now)) this.size = Math.min(this.size * 2, most)
    return true
  }

  /** Ends the request of the decision `id`. */
  endRequest(id: string): void {
    if (this.#requestId === id) this.#requestId = undefined
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
