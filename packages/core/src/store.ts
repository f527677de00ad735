import type { Degraded } from './decision.ts'
import type { Entry, Verdict } from './policy.ts'

/** One decision to be made by a store. */
export interface StoreRequest {
  readonly entries: readonly Entry[]
  /** Whether to add every entry's cost if all fit; if not, nothing is written in any case. */
  readonly apply: boolean
  /** The caller's time in epoch ms. */
  readonly now: number
  /** Whether `now` is the time, as in tests, even if the store has a clock of its own. */
  readonly clockIsInjected: boolean
}

/** What a store found, entry by entry, in the order of the request. */
export interface StoreReply {
  /** The store's time in epoch ms. */
  readonly now: number
  readonly verdicts: readonly Verdict[]
  /** Set by a store that stands in for another. With mode `allow` or `deny` there are no verdicts. */
  readonly degraded?: Degraded
}

/**
 * Where counts live. The only thing a store must get right: `check` looks at every entry, then adds
 * to all of them only if all fit, in one atomic step.
 */
export interface Store {
  /**
   * @throws StoreError When the store does not answer as it should. What was asked may have been done.
   */
  check(request: StoreRequest): Promise<StoreReply>
  /** Forgets these keys. @throws StoreError When it cannot be told that they are forgotten. */
  reset(keys: readonly string[]): Promise<void>
}
