/* Decisions from leases, and the requests for blocks that they make. */
import type { Store, StoreReply, StoreRequest } from '../stores/store.ts'
import type { Moment } from './block.ts'
import type { PendingBlocks } from './block-requests.ts'
import type { LeaseBook, Served } from './lease-book.ts'
import { systemClock } from '../clock.ts'
import { runInBackground } from '../internal/background.ts'
import { sharesPromises } from '../internal/runtime.ts'
import { decideRest, putBack, serveLocally, type LocalPart } from './local-part.ts'

/** The most blocks that a decision waits for: the first may have been taken before many others came. */
const MAX_WAITS = 2

export class Serving {
  readonly #store: Store
  readonly #book: LeaseBook
  readonly #fetchesAhead: boolean
  readonly #canWait: boolean

  constructor(
    store: Store,
    book: LeaseBook,
    fetchesAhead: boolean,
    canWait: boolean = sharesPromises(),
  ) {
    this.#store = store
    this.#book = book
    this.#fetchesAhead = fetchesAhead
    this.#canWait = canWait
  }

  /** Decides what is neither settled later nor released. */
  check(request: StoreRequest): Promise<StoreReply> {
    return this.serve(request, 0, async (local, now) => {
      this.fetchAhead(local.served, request, now)
      const [reply] = await decideRest(local, request.reads, now, () => {
        const rest = { ...request, entries: local.rest }
        const blocks = request.apply ? this.#book.requestBlocks(rest, now) : NO_BLOCKS
        return this.#take(rest, blocks, now)
      })
      return { ...reply, granted: undefined }
    })
  }

  /**
   * Serves what leases can serve, after a wait for blocks that others have requested if nothing else is missing.
   * `decide` goes on at once, so that no other decision finds the same to be missing.
   */
  async serve(
    request: StoreRequest,
    heldMs: number,
    decide: (local: LocalPart, now: Moment) => Promise<StoreReply>,
  ): Promise<StoreReply> {
    const { reads, apply, startedAt } = request
    let now = momentOf(request)
    let local = serveLocally(this.#book, request, heldMs, now)
    let waitsLeft = this.#canWait && apply && reads.length === 0 ? MAX_WAITS : 0
    while (waitsLeft > 0) {
      const wait = this.#book.waitFor(local.rest, startedAt, now)
      if (!wait) break
      putBack(local.served)
      waitsLeft = (await wait.ended) ? waitsLeft - 1 : 0
      wait.leave()
      now = momentOf(request)
      local = serveLocally(this.#book, request, heldMs, now)
    }
    return decide(local, now)
  }

  /** Fetches the next blocks of leases that run low. If that fails, the next decision requests them. */
  fetchAhead(served: readonly Served[], request: StoreRequest, now: Moment): void {
    if (!this.#fetchesAhead) return
    const low = served.filter(({ lease }) => !lease.isFollowed && lease.isRunningLow(now))
    if (low.length === 0) return
    const blocks = this.#book.prefetch(low, request.startedAt, now)
    if (blocks.requests.length === 0) return
    runInBackground(this.takeBlocks(blocks, request, now))
  }

  /** Takes blocks that serve no part of this decision itself. */
  takeBlocks(blocks: PendingBlocks, request: StoreRequest, now: Moment): Promise<StoreReply> {
    const entries = blocks.requests.map(({ entry }) => entry)
    return this.#take({ ...request, entries, id: blocks.id, reads: [] }, blocks, now)
  }

  /** Checks entries in the store, and takes blocks along for the next decisions. */
  async #take(request: StoreRequest, blocks: PendingBlocks, now: Moment): Promise<StoreReply> {
    let reply: StoreReply | undefined
    try {
      reply = await this.#store.check({ ...request, mark: blocks.mark, fit: blocks.fit })
      return reply
    } finally {
      this.#book.finish(blocks, request, reply, now)
    }
  }
}

const NO_BLOCKS: PendingBlocks = { id: '', requests: [], heldMs: 0 }

/** The moment of a decision. It may have waited since its request was made. */
export const momentOf = ({
  now,
  clockIsInjected,
}: Pick<StoreRequest, 'now' | 'clockIsInjected'>): Moment =>
  clockIsInjected ? { wall: now, steady: now } : { wall: systemClock(), steady: performance.now() }
