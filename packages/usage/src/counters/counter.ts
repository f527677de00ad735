/** Counters to add to the store under one name. */
export interface Counter {
  /**
   * Its name in the hash. The first character is its family: when a hash is full, counters that it does not
   * have yet are added to one of that name, such as `'a'`.
   */
  readonly name: string
  /** Whole numbers to add, from -2^53 to 2^53. A family has the same number of them. */
  readonly values: readonly number[]
  /**
   * Adds `values` only if no other claim on this counter lasts at `at`, and then lasts until `until` (epoch
   * ms). The counter then has `until` before its values. @default it always adds
   */
  readonly claim?: { readonly at: number; readonly until: number } | undefined
  /**
   * Lets it take the place of a smaller counter of its family when a hash is full. That one is added to the counter
   * of the family. @default none gives way
   */
  readonly rank?: CounterRank | undefined
}

/** The size of a counter among others. */
export interface CounterRank {
  /** The index of the value by which counters are compared. */
  readonly by: number
  /** A text that the names of those have which it is compared with. */
  readonly pool: string
  /** The size that it has, with what was added to the family's counter before. */
  readonly size: number
}

/** Returns true if a counter may be compared with those of a pool. */
export const isInPool = (name: string, pool: string): boolean =>
  name.length > 1 && name.includes(pool)

/** A hash that counters are added to. */
export interface CounterHash {
  readonly key: string
  /** The time at which it expires, by the limiter's clock (epoch ms). From then on, nothing is added to it. */
  readonly expiresAt: number
}

/** Counters, and the hashes that each of them is added to. The first hash decides about claims. */
export interface CounterGroup {
  readonly hashes: readonly CounterHash[]
  readonly counters: readonly Counter[]
}

/** Counters to add in one atomic step. */
export interface CounterBatch {
  /** The key that marks the batch as added: to send it again changes nothing. */
  readonly mark: string
  /** The most counters in a hash. */
  readonly maxCounters: number
  readonly groups: readonly CounterGroup[]
}

/** The values of a counter as text: `'12,-3'`. */
export const formatValues = (values: readonly number[]): string => values.join()

/** Reads the values of a counter. */
export const parseValues = (text: string): number[] => text.split(',').map(Number)

/** Returns the values as a hash holds them: those of a claim after the time until which it lasts. */
export const storedValues = ({ claim, values }: Counter): readonly number[] =>
  claim ? [claim.until, ...values] : values
