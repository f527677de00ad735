import type { Entry, StoreReply, StoreRequest } from '../stores/store.ts'

/** A decision of a place, in its two parts. */
export interface PlaceDecision {
  /** The request. The place grants no more than the `most` of its `fit`. */
  readonly request: StoreRequest
  /** The entries that the place counts. */
  readonly own: readonly Entry[]
  /** The answer of the place, if it has denied the request before home is asked. */
  readonly denial: StoreReply | undefined
  /** The part that home counts, at the most that it may cost. Nothing is taken for it if the place denies the request. */
  readonly atHome: StoreRequest
  /** The time for which its call may hold blocks open, in milliseconds. 0 if it is not settled later. */
  readonly heldMs: number
}
