import type { StoredState } from '../algorithms/algorithm.ts'

/** An atomic step other than a decision, such as settling: plain data, and its functions. */
export interface Operation<Result, Data = unknown> {
  readonly kind: OperationKind<Result, Data>
  /** Every key that it may read or write. */
  readonly keys: readonly string[]
  /** More keys that are counted in the same place, for a store that has several, if `keys` may not name it. */
  readonly near?: readonly string[]
  readonly data: Data
  /** The machine's time when the caller's work began (epoch ms). The deadline counts from it. */
  readonly startedAt: number
  /** The key of the settlement mark, if this process's memory made the charge while the store failed: the operation runs there. */
  readonly localMark?: string | undefined
  /** Handles the error if the store fails after this process's memory has run it. @default it is thrown */
  readonly onFault?: () => void
}

/** The functions of a kind of `Operation`. Only code that uses one loads it. A store in Redis needs a `LuaTwin`, too. */
export interface OperationKind<Result, Data = unknown> {
  /** Unique, such as `myapp.increment`, also among Sluice's own: a store in Redis keeps the script under it. */
  readonly name: string
  /** True if it corrects or gives back charges: an open `breaker` sends it. @default false */
  readonly correctsCharges?: boolean
  /** True if it settles a reservation, with the data that `settle` sends: it corrects charges, and leases may do so. @default false */
  readonly settles?: boolean
  /** True if it writes records: those of a tenant that moves stay readable in its old database. @default false */
  readonly writesRecords?: boolean
  /** Runs it on these states: in one atomic step, if nothing else runs on them meanwhile. */
  run(states: StateMap, operation: Operation<Result, Data>): Result
}

/** The states and records of a store in memory, by key. */
export interface StateMap {
  /** Returns the state of `key`, or `undefined` if it has none or it has expired at `now` (epoch ms). */
  get(key: string, now: number): unknown
  /** Stores a state. Never drop one whose `expiresAt` is Infinity, and none for one that `isSpent`, as a settled mark. */
  set(key: string, stored: StoredState & { readonly isSpent?: boolean }): void
  /** Returns the time at which what `key` has expires (epoch ms), for a store that can hand it over to another. */
  expiresAt?(key: string): number | undefined
  /** Notes that a state was changed in place, for a store that keeps it elsewhere, too. */
  changed?(key: string): void
}
