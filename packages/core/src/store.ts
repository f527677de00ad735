import type { Entry, Settlement, Verdict } from './algorithm.ts'
import type { Degraded } from './decision.ts'

/** One decision to be made by a store. */
export interface StoreRequest {
  readonly entries: readonly Entry[]
  /** Whether to add every entry's cost if all fit; if not, nothing is written in any case. */
  readonly apply: boolean
  /** The caller's time in epoch ms. */
  readonly now: number
  /** Whether `now` is the time, as in tests, even if the store has a clock of its own. */
  readonly clockIsInjected: boolean
  /** Fields of records to read in the same step, such as the plan of a tenant. */
  readonly reads: readonly RecordField[]
  /** Tells what is added from what others add. */
  readonly id: string
  /** A mark to set if something is charged, which allows that to be settled once. */
  readonly hold?: Hold | undefined
}

/** A mark that a charge may still be settled. */
export interface Hold {
  readonly key: string
  /** How long it stands, in milliseconds. */
  readonly ttlMs: number
}

/** Charges to be corrected. */
export interface SettleRequest {
  /** The key of the mark: without it nothing is done. */
  readonly hold: string
  readonly settlements: readonly Settlement[]
  readonly now: number
  readonly clockIsInjected: boolean
}

/** A field of a record: a small named value that lives beside the counts (in Redis, of a hash). */
export interface RecordField {
  readonly key: string
  readonly field: string
}

/** Fields to set in one record. */
export interface RecordWrite {
  readonly key: string
  readonly set: Readonly<Record<string, string>>
  /** When the whole record is to be forgotten, in milliseconds from now. @default never */
  readonly ttlMs?: number
}

/** What a field must hold for a write to be made: this text, or nothing. */
export interface RecordCondition extends RecordField {
  readonly is: string | undefined
}

/** What a store found, entry by entry, in the order of the request. */
export interface StoreReply {
  /** The store's time in epoch ms. */
  readonly now: number
  readonly verdicts: readonly Verdict[]
  /** Where each entry was charged, if it was, in the order of the request. */
  readonly places: readonly number[]
  /** What the fields to read hold, in the order of the request. */
  readonly read: readonly (string | undefined)[]
  /** Set by a store that stands in for another. With mode `allow` or `deny` there are no verdicts. */
  readonly degraded?: Degraded
}

/**
 * Where counts live. The only thing a store must get right: `check` looks at every entry, then, only
 * if all that are enforced fit, adds once to every key, but to those that only shadows count in and
 * one of these does not fit, in one atomic step.
 */
export interface Store {
  /**
   * @throws StoreError When the store does not answer as it should. What was asked may have been done.
   */
  check(request: StoreRequest): Promise<StoreReply>
  /**
   * Takes the mark away and corrects the charges, in one atomic step; does nothing if there is no mark.
   * Tells whether there was one.
   *
   * @throws StoreError As `check` does.
   */
  settle(request: SettleRequest): Promise<boolean>
  /**
   * Makes all of these writes if the condition holds, in one atomic step, and tells whether it did.
   * `now` is the caller's time in epoch ms, for a store that has no clock of its own.
   *
   * @throws StoreError As `check` does.
   */
  write(writes: readonly RecordWrite[], condition?: RecordCondition, now?: number): Promise<boolean>
  /** Forgets these keys, counts and records. @throws StoreError When it cannot be told that they are forgotten. */
  reset(keys: readonly string[]): Promise<void>
}

/** The keys in which nothing enforced counts, and something does not fit, so that nothing is added. */
export function unfitKeys(
  entries: readonly Entry[],
  verdicts: readonly Verdict[],
): ReadonlySet<string> {
  const unfit = new Set(entries.filter((_, index) => !verdicts[index]?.fits).map(({ key }) => key))
  for (const { key, enforced } of entries) if (enforced) unfit.delete(key)
  return unfit
}
