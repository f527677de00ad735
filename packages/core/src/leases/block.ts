import type { Entry, SettlementMark, Store, StoreRequest, Verdict } from '../stores/store.ts'
import type { SettlementTwins } from '../algorithms/algorithm.ts'
import { systemClock } from '../clock.ts'
import { runInBackground } from '../internal/background.ts'
import { keepingMark } from '../reservations/mark.ts'
import { markKey } from '../reservations/reservation-data.ts'
import { settleKind, settleOperation } from '../reservations/settle-operation.ts'

/** The time after the end of a lease for which its unused units can be given back, in milliseconds. */
const RETURN_WITHIN_MS = 60_000

/** Gives units back. `lease` has put the twins of a rule beside its algorithm. */
const RETURN = settleKind(({ algorithm }) => algorithm.settlement as SettlementTwins)

/** A moment by two clocks: one that may be set, and one that may stand still while the machine sleeps. */
export interface Moment {
  /** Epoch ms. */
  readonly wall: number
  /** Milliseconds of a clock that is never set. */
  readonly steady: number
}

/** Creates the mark of a block. */
export const blockMark = (id: string, durationMs: number): SettlementMark =>
  keepingMark(id, durationMs + RETURN_WITHIN_MS)

/** Units that one call has charged in the store. Each of its leases serves those of one policy. */
export class Block {
  readonly #store: Store
  readonly #request: StoreRequest
  readonly #leases: Lease[] = []
  #open = 0

  constructor(store: Store, request: StoreRequest) {
    this.#store = store
    this.#request = request
  }

  add(lease: Lease): void {
    this.#leases.push(lease)
    this.#open += 1
  }

  /** Counts the end of a lease. After the last, gives back what all of them have left: a mark is settled once. */
  async close(): Promise<void> {
    this.#open -= 1
    const unused = this.#leases.filter(({ left }) => left > 0)
    if (this.#open > 0 || unused.length === 0) return
    const { id, now, clockIsInjected } = this.#request
    const corrections = unused.map(({ entry, units: reserved, left }, index) => {
      const { policy, index: markIndex, key, limit, burst, params } = entry
      const numbers = { limit, burst, params, reserved, actual: reserved - left }
      return Object.assign(numbers, { policy, index, markIndex, key, id })
    })
    await this.#store.run(
      settleOperation(RETURN, {
        policies: corrections.map(({ policy }) => policy),
        corrections,
        id,
        mark: markKey(id),
        isLocal: false,
        isRelease: false,
        now,
        clockIsInjected,
        startedAt: systemClock(),
        onFault: () => {},
      }),
    )
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
}

/** Units of one policy and partition that the store has charged, to be served here for a short time. */
export class Lease {
  readonly entry: Entry
  readonly units: number
  left: number
  isOver = false
  /** True once a block to follow it has been looked for. */
  isFollowed = false
  readonly #block: Block
  readonly #lastsMs: number
  readonly #end: Moment
  readonly #resetAt: number
  /** Units that the store had beside these. */
  readonly #available: number

  constructor({ entry, verdict, units, used, block, taken, lastsMs }: LeaseFacts) {
    this.entry = entry
    this.units = units
    this.left = units - used
    this.#block = block
    this.#lastsMs = lastsMs
    this.#end = { wall: taken.wall + lastsMs, steady: taken.steady + lastsMs }
    this.#resetAt = taken.steady + verdict.resetMs
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
   * Ends it. Its unused units go back in the background, and the request is never repeated: what is lost
   * on the way stays charged.
   */
  end(): Promise<void> | undefined {
    if (this.isOver) return undefined
    this.isOver = true
    const returning = this.#block.close()
    runInBackground(returning)
    return returning
  }
}
