import type { StateMap } from './operation.ts'

/**
 * A record that allows the charges of one request to be settled, once. It holds them and their positions, so that a caller
 * who never got the reply can settle, too.
 */
export interface SettlementMark<Data = unknown> {
  readonly kind: MarkKind<Data>
  /** The keys that it writes. The last is that of the record. */
  readonly keys: readonly string[]
  readonly data: Data
}

/** The functions of a kind of `SettlementMark`. Only code that uses one loads it. */
export interface MarkKind<Data = unknown> {
  readonly name: string
  /** True if its charges are given back when nobody settles them. @default false */
  readonly releases?: boolean
  /** Writes it, in the same atomic step as the charges. */
  write(
    mark: SettlementMark<Data>,
    states: StateMap,
    charges: readonly MarkedCharge[],
    now: number,
  ): void
}

/** The charge of one policy, as a store in memory keeps it in a mark. */
export interface MarkedCharge {
  /** The position of the policy in the request's `policies`. */
  readonly index: number
  readonly units: number
  /** The position of the charge, as the algorithm's `add` returned it. */
  readonly position: number
}
