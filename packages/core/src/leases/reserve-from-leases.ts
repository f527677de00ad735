/* Reservations from leases. */
import type { SettlementMark, Store, StoreReply, StoreRequest } from '../stores/store.ts'
import type { SettleResult } from '../reservations/settle-request.ts'
import type { Moment } from './block.ts'
import type { LeaseBook } from './lease-book.ts'
import { HeldCalls, MAX_HELD_MS, type Settling } from './held-calls.ts'
import { heldMark } from './held-mark.ts'
import { isLeased } from './lease.ts'
import {
  atFinalCost,
  chargedAt,
  decideRest,
  holding,
  putBack,
  type LocalPart,
} from './local-part.ts'
import { momentOf, type Serving } from './serving.ts'

/** The part of a leased store that serves reservations. The option `reservations` of `leased` takes it. */
export interface LeasedReservations {
  create(store: Store, book: LeaseBook, serving: Serving): LeasedCalls
}

/**
 * Serves reservations from leases: no round trip to reserve or to settle, unless the store counts another policy of
 * the decision. A block's unused units go back once its calls are settled.
 *
 * @example
 * const store = leased(upstash(), { reservations: reserveFromLeases })
 */
export const reserveFromLeases: LeasedReservations = {
  create: (store, book, serving) => new LeasedCalls(store, book, serving),
}

class LeasedCalls {
  readonly #store: Store
  readonly #book: LeaseBook
  readonly #serving: Serving
  readonly #calls: HeldCalls

  constructor(store: Store, book: LeaseBook, serving: Serving) {
    this.#store = store
    this.#book = book
    this.#serving = serving
    this.#calls = new HeldCalls(store)
  }

  /** Decides a reservation: leases serve all of its leased policies, or the store charges everything. */
  reserve(request: StoreRequest, mark: SettlementMark<number>): Promise<StoreReply> {
    const { fit, startedAt } = request
    const heldMs = Math.min(mark.data, MAX_HELD_MS)
    const atMost = { ...request, entries: chargedAt(request, [], fit?.most) }
    return this.#serving.serve(atMost, heldMs, async (local, now) => {
      const missing = local.rest.filter(isLeased)
      if (missing.length === 0) return this.#reserveFrom(local, request, mark, now)
      // Before the request, which may end their leases if there are too many.
      putBack(local.served)
      const blocks = this.#book.requestForCalls(missing, heldMs, startedAt, now)
      if (blocks.requests.length > 0) await this.#serving.takeBlocks(blocks, request, now)
      if (blocks.requests.length < missing.length) return this.#store.check(request)
      return this.#serving.serve(atMost, heldMs, (again, later) => {
        if (!again.rest.some(isLeased)) return this.#reserveFrom(again, request, mark, later)
        putBack(again.served)
        return this.#store.check(request)
      })
    })
  }

  /** Decides a reservation of which leases have served the leased policies, with what it costs at most. */
  #reserveFrom(
    local: LocalPart,
    request: StoreRequest,
    mark: SettlementMark<number>,
    now: Moment,
  ): Promise<StoreReply> {
    const { fit, id, reads } = request
    const { served, rest } = local
    // The store grants by the cost of the floor.
    const atFloor = request.entries.filter(
      (entry) => !served.some((one) => one.entry.index === entry.index),
    )
    this.#serving.fetchAhead(served, request, now)
    return holding(served, async () => {
      const isInStore = rest.length > 0
      const counted = isInStore && {
        mark: heldMark(mark, request.entries, served),
        fit,
      }
      const bare = { ...request, entries: atFloor, mark: undefined, fit: undefined }
      const [reply, isAllowed] = await decideRest(local, reads, now, () =>
        this.#store.check({ ...bare, ...counted }),
      )
      const granted = isInStore ? reply.granted : fit?.most
      if (isAllowed && !reply.degraded) {
        const charged = chargedAt(request, reply.verdicts, granted)
        this.#calls.add(id, atFinalCost(served, charged), isInStore, mark.data, now)
      }
      return { ...reply, granted }
    })
  }

  /** Settles a reservation. Returns `undefined` if no lease has served it. */
  settle(operation: Settling): Promise<SettleResult | undefined> | undefined {
    return this.#calls.settle(operation, momentOf(operation.data))
  }
}
