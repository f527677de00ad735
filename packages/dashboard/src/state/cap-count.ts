import type { PolicyFact } from '../records/record.ts'

/** Windows that end within this time of each other are one window: the store rounds. */
export const SAME_WINDOW_MS = 2_000

/**
 * The units of one window of a cap, such as a day's dollars. Records of several processes arrive in any order, so the
 * count is a sum of what each has charged and returned, and of what was used before the first: the least that the
 * store had counted before any of them.
 */
export class CapCount {
  readonly #endsAt: number
  /** The earliest start of the window. */
  readonly #since: number
  #before = Infinity
  #moved = 0
  /** The units that were charged without the store, which never sees them. */
  #outside = 0

  /**
   * @param mostMs The longest that the window may be.
   * @param before The window before it, if any was counted.
   */
  constructor(endsAt: number, mostMs: number, before?: CapCount) {
    this.#endsAt = endsAt
    this.#since = Math.max(endsAt - mostMs, before ? before.#endsAt : 0)
  }

  /** The units that the store has counted. */
  get stored(): number {
    return Math.max(0, this.#moved + (this.#before === Infinity ? 0 : this.#before))
  }

  /** All units, with those charged without the store. */
  get used(): number {
    return this.stored + Math.max(0, this.#outside)
  }

  /** Negative if a fact is of an earlier window, positive if it is of a later one. */
  compare(endsAt: number): number {
    const difference = endsAt - this.#endsAt
    return Math.abs(difference) < SAME_WINDOW_MS ? 0 : difference
  }

  /**
   * Counts a decision. `isLatest` says that no other change can be on its way, so that the store's count holds, with
   * what others have charged who report to no dashboard.
   */
  decide(fact: PolicyFact, isDegraded: boolean, isLatest: boolean): void {
    const charged = fact.charged ? fact.cost : 0
    if (isDegraded) {
      this.#outside += charged
      return
    }
    this.#moved += charged
    const used = fact.limit - fact.remaining
    // A limit that is used up may hide that more is used.
    if (this.#before !== Infinity && fact.remaining === 0) return
    this.#before = isLatest ? used - this.#moved : Math.min(this.#before, used - charged)
  }

  /** Counts units that a settlement has charged, or returned if negative, of a call decided at `at`. */
  settle(units: number, at: number, isDegraded: boolean): void {
    if (at < this.#since) return
    if (isDegraded) this.#outside += units
    else this.#moved += units
  }
}
