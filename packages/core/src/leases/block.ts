import type { Entry, Store, StoreRequest, Verdict } from '../stores/store.ts'
import { runInBackground } from '../internal/background.ts'
import { correctCharges } from './corrections.ts'

/** The time after the end of a lease for which its unused units can be given back, in milliseconds. */
export const RETURN_WITHIN_MS = 60_000

/** A moment by two clocks: one that may be set, and one that may stand still while the machine sleeps. */
export interface Moment {
  /** Epoch ms. */
  readonly wall: number
  /** Milliseconds of a clock that is never set. */
  readonly steady: number
}

/** Units that one call has charged in the store. Each of its leases serves those of one policy. */
export class Block {
  readonly #store: Store
  readonly #open: Set<Block>
  /** The request that has charged it. */
  readonly request: StoreRequest
  /** The time until which calls may hold it open, by the steady clock. */
  readonly heldUntil: number
  readonly leases: Lease[] = []
  /** Resolves once its unused units are back, or could not be given back. Undefined while it is open. */
  returning: Promise<void> | undefined
  #users = 0
  #decisions = 0

  /** @param open The blocks of which it is one until what it has left is back. */
  constructor(store: Store, request: StoreRequest, heldUntil: number, open: Set<Block>) {
    this.#store = store
    this.#open = open
    this.request = request
    this.heldUntil = heldUntil
  }

  add(lease: Lease): void {
    this.leases.push(lease)
    this.#open.add(this)
    this.hold()
  }

  /** Counts a lease that is not over, or a call that is not settled. */
  hold(): void {
    this.#users += 1
  }

  /** Counts the end of one. */
  release(): void {
    this.#users -= 1
    if (this.#decisions === 0) this.close()
  }

  /** Counts a decision under way: units that it puts back after the end are lost. */
  begin(): void {
    this.#decisions += 1
  }

  /** Counts the end of a decision. */
  finish(): void {
    this.#decisions -= 1
    if (this.#decisions === 0) this.close()
  }

  /**
   * Gives back what all leases have left, unless a lease or a call needs it: a mark is settled once. In the background,
   * and never repeated: what is lost on the way stays charged.
   */
  close(): void {
    if (this.#users > 0 || this.returning) return
    this.returning = this.#giveBack()
    runInBackground(this.returning)
  }

  async #giveBack(): Promise<void> {
    try {
      const unused = this.leases.filter(({ left }) => left > 0)
      if (unused.length === 0) return
      const charges = unused.map(({ entry, units: reserved, left }) => {
        return { entry, reserved, actual: reserved - left }
      })
      await correctCharges(this.#store, this.request, charges)
    } finally {
      this.#open.delete(this)
    }
  }
}

/** The facts of a lease. */
interface LeaseFacts {
  /** The entry of the decision that took the units. */
  readonly entry: Entry
  /** The answer of the store, before the units were charged. */
  readonly verdict: Verdict
  /** Units charged, those of that decision included. */
  readonly units: number
  /** Units of that decision, 0 if the block was fetched ahead. */
  readonly used: number
  readonly block: Block
  /** The time before the request was sent: a slow reply shortens a lease. */
  readonly taken: Moment
  /** The time from then for which the units may be served. */
  readonly lastsMs: number
  /** The time from then for which the store counts them. */
  readonly countedMs: number
}

/** Units of one policy and partition that the store has charged, to be served here for a short time. */
export class Lease {
  readonly entry: Entry
  readonly units: number
  readonly block: Block
  /** Units that are not served. */
  left: number
  isOver = false
  /** True once the store has forgotten the units. */
  isForgotten = false
  /** True once a block to follow it has been looked for. */
  isFollowed = false
  readonly #lastsMs: number
  readonly #end: Moment
  readonly #resetAt: number
  readonly #countedUntil: number
  /** Units that the store had beside these. */
  readonly #available: number

  constructor({ entry, verdict, units, used, block, taken, lastsMs, countedMs }: LeaseFacts) {
    this.entry = entry
    this.units = units
    this.left = units - used
    this.block = block
    this.#lastsMs = lastsMs
    this.#end = { wall: taken.wall + lastsMs, steady: taken.steady + lastsMs }
    this.#resetAt = taken.steady + verdict.resetMs
    this.#countedUntil = taken.steady + countedMs
    this.#available = Math.max(0, verdict.available - units)
    block.add(this)
  }

  isValid({ wall, steady }: Moment): boolean {
    return wall < this.#end.wall && steady < this.#end.steady
  }

  /** Returns true if half of its units or less are left, or a quarter of its time. */
  isRunningLow({ steady }: Moment): boolean {
    return this.left * 2 <= this.units || (this.#end.steady - steady) * 4 <= this.#lastsMs
  }

  isHalfOver({ steady }: Moment): boolean {
    return (this.#end.steady - steady) * 2 <= this.#lastsMs
  }

  /** Describes the policy before `cost` is taken. */
  verdict(cost: number, apply: boolean, { steady }: Moment): Verdict {
    return {
      fits: true,
      charged: apply && cost > 0,
      available: this.#available + this.left,
      resetMs: Math.max(1, Math.ceil(this.#resetAt - steady)),
      retryMs: 0,
    }
  }

  /**
   * Takes more units for a call that it has served, or takes some back. Returns what it has moved: none of units
   * that have left their window or their block, and no more than it has.
   */
  move(more: number, { steady }: Moment): number {
    if (this.isForgotten || this.block.returning || steady >= this.#countedUntil) return 0
    const moved = Math.min(more, this.left)
    this.left -= moved
    return moved
  }

  /** Returns units that it has served, unless the store has forgotten them. */
  putBack(units: number): void {
    if (!this.isForgotten) this.left += units
  }

  /** Ends it. Its unused units go back once the decisions and calls that it has served are over. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.block.release()
  }

  /** Drops its units: the store has forgotten them. */
  forget(): void {
    this.left = 0
    this.isForgotten = true
  }
}
