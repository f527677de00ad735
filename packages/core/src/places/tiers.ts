/*
 * Decisions of a place, such as a tenant's, about policies that another place, home, counts for everyone. The place
 * takes blocks of units from home, and serves them itself.
 */
import type {
  Entry,
  Operation,
  SettlementMark,
  Store,
  StoreReply,
  StoreRequest,
  Verdict,
} from '../stores/store.ts'
import type { SettleResult } from '../reservations/settle-request.ts'
import type { OwnPlace } from './own-place.ts'
import type { Moment } from '../leases/block.ts'
import { sharesPromises } from '../internal/runtime.ts'
import { HeldCalls, MAX_HELD_MS, type Settling } from '../leases/held-calls.ts'
import { heldMark } from '../leases/held-mark.ts'
import { LeaseBook } from '../leases/lease-book.ts'
import { atFinalCost, serveLocally, type LocalPart } from '../leases/local-part.ts'
import { chargedAt } from '../leases/reserving.ts'
import { momentOf, Serving } from '../leases/serving.ts'
import { isDenied, isOutdated } from '../stores/store.ts'
import { HomeVerdicts } from './home-verdicts.ts'
import { settleForeign } from './settle-foreign.ts'
import { takeAlone, verdictsOf, type Away } from './take-alone.ts'

/** The most keys to hold blocks of. */
const MAX_LEASES = 1_000

/** The part of a place that serves policies which home counts. */
export class Tiers {
  readonly #home: Store
  readonly #own: OwnPlace
  readonly #book: LeaseBook
  readonly #serving: Serving
  readonly #calls: HeldCalls
  readonly #verdicts: HomeVerdicts

  constructor(home: Store, own: OwnPlace) {
    this.#home = home
    this.#own = own
    this.#verdicts = new HomeVerdicts(home)
    this.#book = new LeaseBook(home, MAX_LEASES)
    this.#serving = new Serving(home, this.#book, true, own.peek !== undefined || sharesPromises())
    const isForHome = ({ data }: Operation<unknown>): boolean =>
      (data as Settling['data']).corrections.some(({ key }) => own.isAway(key))
    this.#calls = new HeldCalls({
      ...home,
      run: async (operation) =>
        (isForHome(operation) ? home.run(operation) : own.run(operation)) as never,
    })
  }

  /** Decides a request of which home counts a part. @throws StoreError When home fails. */
  async decide(request: StoreRequest): Promise<StoreReply> {
    const { entries, apply, mark, fit } = request
    const own = entries.filter(({ key }) => !this.#own.isAway(key))
    // What the place itself denies takes no trip.
    const peeked = this.#own.peek?.({ ...request, entries: own, apply: false, mark: undefined })
    const granted = peeked?.granted ?? fit?.most
    const denies = apply && peeked !== undefined && isDenied(own, peeked.verdicts)
    const heldMs = Math.min(mark ? (mark.data as number) : 0, MAX_HELD_MS)
    // Home grants no more than the place.
    const bounded = { ...request, fit: fit && { ...fit, most: granted as number } }
    const atMost = chargedAt(bounded, [], granted).filter(({ key }) => this.#own.isAway(key))
    const asked = { ...bounded, entries: atMost, reads: [], apply: apply && !denies }
    return this.#serving.serve(asked, heldMs, async (local, now) =>
      this.#complete(bounded, own, await this.#take(asked, bounded, local, heldMs, now), now),
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

  /** Takes from home what no lease has served. */
  async #take(
    asked: StoreRequest,
    request: StoreRequest,
    first: LocalPart,
    heldMs: number,
    now: Moment,
  ): Promise<Away> {
    let local = first
    let served = now
    this.#serving.fetchAhead(local.served, asked, now)
    if (asked.apply && local.rest.length > 0) {
      const missing = local.rest.filter(({ enforced }) => enforced)
      const blocks = this.#book.requestForCalls(missing, heldMs, asked.startedAt, now)
      if (blocks.requests.length > 0) {
        local.putBack()
        await this.#serving.takeBlocks(blocks, asked, now)
        served = momentOf(asked)
        local = serveLocally(this.#book, asked, heldMs, served)
      }
    }
    const away: Away = {
      verdicts: verdictsOf(asked.entries, local.verdicts),
      served: local.served,
      alone: [],
      isDenied: false,
      most: request.fit?.most ?? 0,
      source: 'lease',
      decidedAt: served.wall,
    }
    if (local.rest.length === 0) return away
    try {
      return await takeAlone(this.#home, this.#verdicts, away, local.rest, request, asked.apply, {
        heldMs,
        now,
      })
    } catch (error) {
      local.putBack()
      throw error
    }
  }

  /** Decides the part of the place, and gives back what leases have served if that denies it. */
  async #complete(
    request: StoreRequest,
    own: readonly Entry[],
    away: Away,
    now: Moment,
  ): Promise<StoreReply> {
    const { entries, mark, fit, id } = request
    const { served } = away
    const keptMark = mark as SettlementMark<number> | undefined
    const mayCharge = request.apply && !away.isDenied
    let isAllowed = false
    // Blocks stay open meanwhile.
    for (const { lease } of served) lease.block.hold()
    try {
      const asked = {
        ...request,
        entries: own,
        apply: mayCharge,
        mark: keptMark && heldMark(keptMark, entries, served),
        fit: fit && { ...fit, most: Math.max(fit.floor, away.most) },
      }
      const reply = await this.#decideOwn(asked, away)
      isAllowed =
        mayCharge && !isDenied(own, reply.verdicts) && !isOutdated(request.reads, reply.values)
      const found = new Map([...away.verdicts, ...verdictsOf(own, reply.verdicts)])
      const verdicts = entries.map(({ index }) => {
        const verdict = found.get(index) as Verdict
        return isAllowed ? verdict : notCharged(verdict)
      })
      if (isAllowed) {
        const parts = atFinalCost(served, chargedAt(request, verdicts, reply.granted))
        if (keptMark) this.#calls.add(id, parts, own.length > 0, keptMark.data, now)
      }
      return { ...reply, verdicts }
    } finally {
      if (!isAllowed) {
        for (const { lease, entry } of served) if (!lease.isForgotten) lease.left += entry.cost
      }
      for (const { lease } of served) void lease.block.release()
      // They end with the decision, or once its call is settled.
      for (const lease of away.alone) void lease.end()
    }
  }

  /** Decides what the place counts. If that is nothing, it has nothing to note or to grant. */
  async #decideOwn(
    request: StoreRequest,
    { source, decidedAt }: Pick<Away, 'source' | 'decidedAt'>,
  ): Promise<StoreReply> {
    const { entries, reads, fit } = request
    if (entries.length > 0) return this.#own.decide(request)
    const granted = fit?.most
    if (reads.length === 0) {
      return { source, now: decidedAt, verdicts: [], values: [], granted }
    }
    const bare = { ...request, mark: undefined, fit: undefined }
    return { ...(await this.#own.decide(bare)), granted }
  }
}

const notCharged = (verdict: Verdict): Verdict => ({ ...verdict, charged: false })
