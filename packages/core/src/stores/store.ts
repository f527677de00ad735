import type { AlgorithmInput, Finding } from '../algorithms/algorithm.ts'
import type { Degraded, Source } from '../decision.ts'
import type { PolicyRule } from '../policies/policy.ts'

/** One policy's part in a store call. */
export interface Entry extends AlgorithmInput {
  readonly policy: PolicyRule
  /** The position of `policy` in the request's `policies`. */
  readonly index: number
  readonly key: string
  /** True if it denies what does not fit. If not, it is left out of what is added then. */
  readonly enforced: boolean
}

/** One decision to be made by a store. */
export interface StoreRequest {
  /** All policies of the limiter, the same frozen list each time. */
  readonly policies: readonly PolicyRule[]
  /** The policies that take part, in their order. Those of one `keyspace` have one key. */
  readonly entries: readonly Entry[]
  /** True to add every entry's cost if all fit; if not, nothing is written in any case. */
  readonly apply: boolean
  /** The caller's time in epoch ms. */
  readonly now: number
  /** True if `now` is the time, as in tests, even if the store has a clock of its own. */
  readonly clockIsInjected: boolean
  /** When the decision began, by the machine's clock: a store's deadline counts from here. */
  readonly startedAt: number
  /** Fields of records to read in the same step, such as the plan of a tenant. */
  readonly reads: readonly RecordField[]
  /** Identifies what is added. Letters and digits. */
  readonly id: string
  /** Set if what is charged is to be settled: the mark that allows it, once. */
  readonly mark?: SettlementMark | undefined
  /** How the store has just failed for this decision: it need not be asked again. */
  readonly failure?: unknown
}

/** A record that allows a charge to be settled once. */
export interface SettlementMark {
  readonly key: string
  /** How long it lasts, in milliseconds. */
  readonly ttlMs: number
}

/** A field of a record: a small named value that lives beside the counts (in Redis, of a hash). */
export interface RecordField {
  readonly key: string
  readonly field: string
}

/**
 * Something else to do in a store in one atomic step, such as settling. It has two twins that must
 * agree: TypeScript for stores in memory, Lua for Redis. Whoever does not use it does not load it.
 */
export interface Operation<Result> {
  /** When whatever needs it began, by the machine's clock: a store's deadline counts from here. */
  readonly startedAt: number
  /**
   * The mark of what it settles, if that was charged in the memory of this process while the store
   * failed: it is run there.
   */
  readonly localMark?: string | undefined
  /** The twin in memory. */
  run(cells: Cells): Result
  readonly lua: {
    /** Identifies the script. */
    readonly name: string
    /** The script, made when it is first needed. */
    readonly source: () => string
    readonly keys: readonly string[]
    readonly args: readonly string[]
    /** Returns the result, or `undefined` if the reply is none. */
    readonly read: (reply: unknown) => { readonly result: Result } | undefined
  }
}

/** The states and records that a store in memory holds. */
export interface Cells {
  /** The state of a key, or `undefined` if there is none at `now`. */
  get(key: string, now: number): unknown
  set(key: string, cell: Cell): void
  delete(key: string): void
}

/** One state or record, and the time after which it may be dropped (epoch ms; Infinity to keep it). */
export interface Cell {
  readonly state: unknown
  readonly expiresAt: number
}

/** The fields of a record, as a store in memory holds them. */
export type RecordFields = ReadonlyMap<string, string>

/** The finding for one entry, and whether it was charged. */
export interface Verdict extends Finding {
  /** True if the cost was added. False where it is 0. */
  readonly charged: boolean
  /** The position that it was added at; needed of a request with a `mark` only. */
  readonly position: number
}

/** The answer of a store, entry by entry, in the order of the request. */
export interface StoreReply {
  readonly source: Source
  /** The store's time in epoch ms. */
  readonly now: number
  readonly verdicts: readonly Verdict[]
  /** The values of the fields to read, in the order of the request. */
  readonly read: readonly (string | undefined)[]
  /** Set by a store that answers for another. With mode `allow` or `deny` there are no verdicts. */
  readonly degraded?: Degraded
}

/**
 * Where counts live. A store around a store is one as well.
 *
 * @example See `docs/extending.md`, which builds one.
 */
export interface Store {
  /**
   * In one atomic step: looks at every entry; if every enforced one fits, charges each key once. A key
   * in which no enforced policy counts is charged only if all of its policies fit.
   *
   * @throws StoreError When the store does not answer as it should. What was asked may have been done.
   */
  check(request: StoreRequest): Promise<StoreReply>
  /**
   * Runs an operation in one atomic step.
   *
   * @throws StoreError As `check` does.
   */
  run<Result>(operation: Operation<Result>): Promise<Result>
  /** Removes these keys, counts and records. @throws StoreError When it is not known that they are gone. */
  reset(keys: readonly string[]): Promise<void>
}

/** Returns true if an enforced entry does not fit. For stores that run the TypeScript of algorithms. */
export function isDenied(entries: readonly Entry[], findings: readonly Finding[]): boolean {
  return entries.some(({ enforced }, index) => enforced && findings[index]?.fits !== true)
}

/**
 * Returns true if an entry's key is to be charged, given that nothing is denied: where only shadows
 * count, all of them must fit. For stores that run the TypeScript of algorithms.
 */
export function isChargeable(
  entry: Entry,
  entries: readonly Entry[],
  findings: readonly Finding[],
): boolean {
  const { key, cost, policy } = entry
  if (cost === 0) return false
  if (policy.keyspace === undefined) return findings[entries.indexOf(entry)]?.fits === true
  const together = entries.filter((other) => other.key === key)
  return (
    together.some(({ enforced }) => enforced) ||
    together.every((other) => findings[entries.indexOf(other)]?.fits === true)
  )
}
