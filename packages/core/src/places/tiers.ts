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
import { systemClock } from '../clock.ts'
import { pause } from '../internal/single-flight.ts'
import { sharesPromises } from '../internal/runtime.ts'
import { requestId } from '../internal/random-id.ts'
import { Block, Lease, RETURN_WITHIN_MS, type Moment } from '../leases/block.ts'
import { HeldCalls, MAX_HELD_MS, type Settling } from '../leases/held-calls.ts'
import { heldMark } from '../leases/held-mark.ts'
import { LeaseBook, type Served } from '../leases/lease-book.ts'
import { termsOf, type LeaseTerms } from '../leases/lease.ts'
import { atFinalCost, serveLocally, type LocalPart } from '../leases/local-part.ts'
import { Overrun } from '../leases/overrun.ts'
import { chargedAt } from '../leases/reserving.ts'
import { momentOf, Serving } from '../leases/serving.ts'
import { keepingMark } from '../reservations/mark.ts'
import { settleOperation } from '../reservations/settle-operation.ts'
import { isDenied } from '../stores/store.ts'
import { HomeVerdicts } from './home-verdicts.ts'

/** The place itself. */
export interface OwnPlace {
  /** Returns true if home counts this key. */
  isAway(key: string): boolean
  /** Decides in one step: at once, or by a call to the store in which the place is. */
  decide(request: StoreRequest): StoreReply | Promise<StoreReply>
  run(operation: Operation<unknown>): unknown
  /** Decides without a charge, if that takes no call. */
  peek?(request: StoreRequest): StoreReply
}

/** The attempts to charge an overrun in home, and the pause after the first in milliseconds. */
const ATTEMPTS = 3
const PAUSE_MS = 200

/** The most keys to hold blocks of. */
const MAX_LEASES = 1_000

/** The verdicts of home on entries, and the leases that serve those that fit. */
interface Away {
  readonly verdicts: ReadonlyMap<number, Verdict>
  readonly served: readonly Served[]
  /** The leases that were taken for this decision only. */
  readonly alone: readonly Lease[]
  readonly isDenied: boolean
  /** The most to grant to a request with a `fit`. */
  readonly most: number
}

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
    const { kind, data, near = [], startedAt, onFault = () => {} } = operation
    const settled = this.#calls.settle(operation, momentOf(data))
    if (settled) return settled
    const isAway = data.corrections.map(({ key }) => this.#own.isAway(key))
    const corrections = data.corrections.filter((_, at) => !isAway[at])
    const facts = { ...data, corrections, startedAt, onFault }
    const result = (await this.#own.run({ ...settleOperation(kind as never, facts), near })) as
      SettleResult | undefined
    if (!result || 'before' in result) return result
    // Its leases are gone, as after a restart: what was leased stays charged, and more is owed.
    const inPlace = result.applied.values()
    const applied: number[] = []
    for (const [at, correction] of data.corrections.entries()) {
      if (!isAway[at]) {
        applied.push(inPlace.next().value ?? 0)
        continue
      }
      const more = Math.max(0, correction.actual - correction.reserved)
      const policy = termsOf(correction.policy)?.counted ?? correction.policy
      // A cost of 0 fits any limit.
      const entry = { ...correction, policy, index: 0, limit: 1, cost: 0, enforced: true }
      const overrun = new Overrun(this.#home, entry, { policies: [policy] }, more)
      // The place is settled, so a repeated settlement would not charge it.
      await retry(() => overrun.charge(data, systemClock()))
      applied.push(more)
    }
    return { ...result, applied }
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
    this.#serving.fetchAhead(local.served, asked, now)
    if (asked.apply && local.rest.length > 0) {
      const missing = local.rest.filter(({ enforced }) => enforced)
      const blocks = this.#book.requestForCalls(missing, heldMs, asked.startedAt, now)
      if (blocks.requests.length > 0) {
        local.putBack()
        await this.#serving.takeBlocks(blocks, asked, now)
        local = serveLocally(this.#book, asked, heldMs, momentOf(asked))
      }
    }
    const away: Away = {
      verdicts: verdictsOf(asked.entries, local.verdicts),
      served: local.served,
      alone: [],
      isDenied: false,
      most: request.fit?.most ?? 0,
    }
    if (local.rest.length === 0) return away
    try {
      return await this.#takeAlone(away, local, request, asked.apply, heldMs, now)
    } catch (error) {
      local.putBack()
      throw error
    }
  }

  /** Takes a block for this decision alone, with as much as home grants. */
  async #takeAlone(
    away: Away,
    { rest }: LocalPart,
    request: StoreRequest,
    apply: boolean,
    heldMs: number,
    now: Moment,
  ): Promise<Away> {
    const id = requestId()
    const entries = request.entries.filter(({ index }) =>
      rest.some((entry) => entry.index === index),
    )
    const asked: StoreRequest = {
      ...request,
      entries,
      apply,
      reads: [],
      id,
      mark: keepingMark(id, heldMs + RETURN_WITHIN_MS),
    }
    const { verdicts, granted } = await this.#verdicts.ask(asked, request.apply && !apply)
    const both = new Map([...away.verdicts, ...verdictsOf(entries, verdicts)])
    const denied = isDenied(entries, verdicts)
    const most = Math.min(away.most, granted ?? away.most)
    if (denied || !apply) return { ...away, verdicts: both, isDenied: denied, most }
    const block = new Block(this.#home, asked, now.steady + heldMs)
    const served = chargedAt(asked, verdicts, granted).flatMap((entry, at): Served[] => {
      const { durationMs, isAligned } = termsOf(entry.policy) as LeaseTerms
      const verdict = verdicts[at] as Verdict
      const { cost: units } = entry
      // A shadow that did not fit.
      if (units > 0 && !verdict.charged) return []
      const countedMs = isAligned ? verdict.resetMs : (entry.params[0] ?? 0)
      const facts = { entry, verdict, units, used: units, block, taken: now, lastsMs: durationMs }
      return [{ lease: new Lease({ ...facts, countedMs }), entry }]
    })
    const alone = served.map(({ lease }) => lease)
    return { verdicts: both, served: [...away.served, ...served], alone, isDenied: false, most }
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
      const reply = await this.#decideOwn({
        ...request,
        entries: own,
        apply: mayCharge,
        mark: keptMark && heldMark(keptMark, entries, served),
        fit: fit && { ...fit, most: Math.max(fit.floor, away.most) },
      })
      isAllowed = mayCharge && !isDenied(own, reply.verdicts)
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
  async #decideOwn(request: StoreRequest): Promise<StoreReply> {
    const { entries, reads, fit, now } = request
    if (entries.length > 0) return this.#own.decide(request)
    const granted = fit?.most
    if (reads.length === 0) return { source: 'lease', now, verdicts: [], values: [], granted }
    const bare = { ...request, mark: undefined, fit: undefined }
    return { ...(await this.#own.decide(bare)), granted }
  }
}

/** Tries it three times. What it has done is not done again. */
async function retry(attempt: () => Promise<void>): Promise<void> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (count === ATTEMPTS) throw error
      await pause(PAUSE_MS * count)
    }
  }
}

const notCharged = (verdict: Verdict): Verdict => ({ ...verdict, charged: false })

const verdictsOf = (
  entries: readonly Entry[],
  verdicts: readonly (Verdict | undefined)[],
): ReadonlyMap<number, Verdict> =>
  new Map(
    entries.flatMap(({ index }, at) => {
      const verdict = verdicts[at]
      return verdict ? [[index, verdict] as const] : []
    }),
  )
