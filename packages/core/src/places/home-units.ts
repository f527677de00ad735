/*
 * Decisions of a place, such as a tenant's, about policies that another place, home, counts for everyone. The place
 * takes blocks of units from home, and serves them itself.
 */
import type { Operation, Store, StoreReply, StoreRequest, Verdict } from '../stores/store.ts'
import type { SettleResult } from '../reservations/settle-request.ts'
import type { OwnPlace } from './own-place.ts'
import type { PlaceDecision } from './place-decision.ts'
import type { Moment } from '../leases/block.ts'
import { sharesPromises } from '../internal/runtime.ts'
import { HeldCalls, MAX_HELD_MS, type Settling } from '../leases/held-calls.ts'
import { heldMark } from '../leases/held-mark.ts'
import { LeaseBook } from '../leases/lease-book.ts'
import {
  atFinalCost,
  chargedAt,
  holding,
  putBack,
  serveLocally,
  type LocalPart,
} from '../leases/local-part.ts'
import { momentOf, Serving } from '../leases/serving.ts'
import { isKept } from '../reservations/mark.ts'
import { isDenied, isOutdated } from '../stores/store.ts'
import { VerdictsOfHome } from './verdicts-of-home.ts'
import { settleForeign } from './settle-foreign.ts'
import { takeFromHome, verdictsOf, type HomePart } from './take-from-home.ts'

/** The most keys to hold blocks of. */
const MAX_LEASES = 1_000

/** The part of a place that serves policies which home counts. */
export class HomeUnits {
  readonly #home: Store
  readonly #own: OwnPlace
  readonly #book: LeaseBook
  readonly #serving: Serving
  readonly #calls: HeldCalls
  readonly #verdicts: VerdictsOfHome

  constructor(home: Store, own: OwnPlace) {
    this.#home = home
    this.#own = own
    this.#verdicts = new VerdictsOfHome(home)
    this.#book = new LeaseBook(home, MAX_LEASES)
    this.#serving = new Serving(home, this.#book, true, own.peek !== undefined || sharesPromises())
    const isForHome = ({ data }: Operation<unknown>): boolean =>
      (data as Settling['data']).corrections.some((one) => own.isAtHome(one))
    this.#calls = new HeldCalls({
      ...home,
      run: async (operation) =>
        (isForHome(operation) ? home.run(operation) : own.run(operation)) as never,
    })
  }

  /** Decides a request of which home counts a part. @throws StoreError When home fails. */
  async decide(request: StoreRequest): Promise<StoreReply> {
    const decision = this.#divide(request)
    const { atHome, heldMs } = decision
    return this.#serving.serve(atHome, heldMs, (local, now) =>
      this.#decideWith(decision, local, now),
    )
  }

  /** Forgets the blocks of these keys: home has forgotten their units. */
  drop(keys: readonly string[]): void {
    this.#book.drop(keys)
  }

  /** Ends all leases, and gives what they have not served back to home. Never throws. */
  close(): Promise<void> {
    return this.#book.close()
  }

  /** Settles a reservation: the part of the place, and what home has leased or is owed. */
  async settle(operation: Settling): Promise<SettleResult | undefined> {
    const settled = this.#calls.settle(operation, momentOf(operation.data))
    if (settled) return settled
    return settleForeign(this.#home, this.#own, operation)
  }

  /** Divides a request by who counts its entries. */
  #divide(request: StoreRequest): PlaceDecision {
    const { entries, apply, mark, fit } = request
    const areAtHome = entries.map((entry) => this.#own.isAtHome(entry))
    const own = entries.filter((_, at) => !areAtHome[at])
    // A denial by the place itself takes no trip.
    const peeked = this.#own.peek?.({ ...request, entries: own, apply: false, mark: undefined })
    const granted = peeked?.granted ?? fit?.most
    const denial = apply && peeked && isDenied(own, peeked.verdicts) ? peeked : undefined
    // Home grants no more than the place.
    const bounded = { ...request, fit: fit && { ...fit, most: granted as number } }
    const atMost = chargedAt(bounded, [], granted).filter((_, at) => areAtHome[at])
    return {
      request: bounded,
      own,
      denial,
      atHome: { ...bounded, entries: atMost, reads: [], apply: apply && !denial },
      heldMs: isKept(mark) ? Math.min(mark.data, MAX_HELD_MS) : 0,
    }
  }

  /** Decides with what leases have served, and with units that it takes from home for the rest. */
  async #decideWith(decision: PlaceDecision, first: LocalPart, now: Moment): Promise<StoreReply> {
    const { atHome, heldMs } = decision
    let local = first
    let served = now
    this.#serving.fetchAhead(local.served, atHome, now)
    if (atHome.apply && local.rest.length > 0) {
      const missing = local.rest.filter(({ enforced }) => enforced)
      // Before the request, which may end their leases if there are too many.
      putBack(local.served)
      const blocks = this.#book.requestForCalls(missing, heldMs, atHome.startedAt, now)
      if (blocks.requests.length > 0) {
        await this.#serving.takeBlocks(blocks, atHome, now)
        served = momentOf(atHome)
      }
      local = serveLocally(this.#book, atHome, heldMs, served)
    }
    return holding(local.served, async () => {
      const part = await this.#takeMissing(decision, local, served, now)
      return this.#complete(decision, part, now)
    })
  }

  /** Takes the units that no lease has served from home. */
  async #takeMissing(
    decision: PlaceDecision,
    local: LocalPart,
    servedAt: Moment,
    now: Moment,
  ): Promise<HomePart> {
    const part: HomePart = {
      verdicts: verdictsOf(decision.atHome.entries, local.verdicts),
      served: local.served,
      ownLeases: [],
      isDenied: false,
      granted: decision.request.fit?.most ?? 0,
      source: 'lease',
      decidedAt: servedAt.wall,
    }
    if (local.rest.length === 0) return part
    try {
      return await takeFromHome(this.#book, this.#verdicts, decision, part, local.rest, now)
    } catch (error) {
      putBack(local.served)
      throw error
    }
  }

  /** Decides the part of the place, and gives back what leases have served if that denies it. */
  async #complete(
    { request, own, denial }: PlaceDecision,
    part: HomePart,
    now: Moment,
  ): Promise<StoreReply> {
    const { entries, reads, mark, fit, id } = request
    const { served } = part
    const mayCharge = request.apply && !denial && !part.isDenied
    let isAllowed = false
    try {
      const ownRequest = {
        ...request,
        entries: own,
        apply: mayCharge,
        mark: isKept(mark) ? heldMark(mark, entries, served) : mark,
        fit: fit && { ...fit, most: Math.max(fit.floor, part.granted) },
      }
      // Home has charged nothing: room that the place has since is for the next.
      const reply = denial ?? (await this.#decideOwn(ownRequest, part))
      isAllowed = mayCharge && !isDenied(own, reply.verdicts) && !isOutdated(reads, reply.values)
      const found = new Map([...part.verdicts, ...verdictsOf(own, reply.verdicts)])
      const verdicts = entries.map(({ index }) => {
        const verdict = found.get(index) as Verdict
        return isAllowed ? verdict : notCharged(verdict)
      })
      if (isAllowed) {
        const parts = atFinalCost(served, chargedAt(request, verdicts, reply.granted))
        if (isKept(mark)) this.#calls.add(id, parts, own.length > 0, mark.data, now)
      }
      return { ...reply, verdicts }
    } finally {
      if (!isAllowed) putBack(served)
      // They end with the decision, or once its call is settled.
      for (const lease of part.ownLeases) lease.end()
    }
  }

  /** Decides the entries that the place counts. Without any, it has nothing to note or to grant. */
  async #decideOwn(
    request: StoreRequest,
    { source, decidedAt }: Pick<HomePart, 'source' | 'decidedAt'>,
  ): Promise<StoreReply> {
    const { entries, reads, fit } = request
    if (entries.length > 0) return this.#own.decide(request)
    const granted = fit?.most
    if (reads.length === 0) {
      return { source, now: decidedAt, verdicts: [], values: [], granted }
    }
    const readsOnly = { ...request, mark: undefined, fit: undefined }
    return { ...(await this.#own.decide(readsOnly)), granted }
  }
}

const notCharged = (verdict: Verdict): Verdict => ({ ...verdict, charged: false })
