import type { Operation, StoreReply, StoreRequest } from '../stores/store.ts'

/** A place, as the part of it that serves what home counts sees it. */
export interface OwnPlace {
  /** Returns true if home counts this key. */
  isAway(key: string): boolean
  /** Decides in one step: at once, or by a call to the store in which the place is. */
  decide(request: StoreRequest): StoreReply | Promise<StoreReply>
  run(operation: Operation<unknown>): unknown
  /** Decides without a charge, if that takes no call. */
  peek?(request: StoreRequest): StoreReply
}
