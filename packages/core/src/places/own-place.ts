import type { Operation, StoreReply, StoreRequest } from '../stores/store.ts'
import type { Placed } from '../stores/placed/places-by.ts'

/** A place, as the part of it that serves policies which home counts sees it. */
export interface OwnPlace {
  /** Returns true if home counts an entry or a correction. */
  isAtHome(part: Placed): boolean
  /** Decides in one step: at once, or by a call to the store in which the place is. */
  decide(request: StoreRequest): StoreReply | Promise<StoreReply>
  run(operation: Operation<unknown>): unknown
  /** Decides without a charge, if that takes no call. */
  peek?(request: StoreRequest): StoreReply
}
