/* Reservations that leases have served, until they are settled. */
import type { Operation, Store } from '../stores/store.ts'
import type {
  Correction,
  SettledBefore,
  SettleRequest,
  SettleResult,
} from '../reservations/settle-request.ts'
import type { Moment } from './block.ts'
import type { Served } from './lease-book.ts'
import { SETTLED_MS } from '../reservations/settle-request.ts'
import { settleOperation } from '../reservations/settle-operation.ts'
import { Overrun } from './overrun.ts'

/** A settlement as a store is asked for it. */
export type Settling = Operation<SettleResult | undefined, SettleRequest>

/** A reservation of which leases have served a part, or all. */
interface HeldCall {
  /** One for each policy that a lease has served, with its cost. */
  readonly parts: readonly Served[]
  /** True if the store has charged its other policies. */
  readonly isInStore: boolean
  /** The time after which it is forgotten, by the steady clock. */
  until: number
  /** The time after which it holds no block open. */
  readonly heldUntil: number
  isHeld: boolean
  /** The last settlement, which the next one waits for. */
  settling?: Promise<unknown>
  /** The first settlement that the store was asked for. */
  asked?: SettleRequest
  /** Overruns of a settlement. After a failure, a repeated one charges what is left. */
  readonly overruns: Map<Served, Overrun>
  /** Its settlement, with the units that it has charged. Undefined before. */
  settled?: SettledBefore
}

/** The longest time for which a call holds a block open: until then, the block has a mark in the store. */
export const MAX_HELD_MS = 600_000

/** The most reservations to remember. Past that, the estimate of the oldest is final. */
const MAX_CALLS = 10_000

/** Calls to look at when one is added. */
const MAX_SWEPT = 8

export class HeldCalls {
  readonly #store: Store
  readonly #calls = new Map<string, HeldCall>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Adds a reservation that can be settled for `ttlMs`. Its blocks stay open until then, or for ten minutes. */
  add(
    id: string,
    parts: readonly Served[],
    isInStore: boolean,
    ttlMs: number,
    { steady }: Moment,
  ): void {
    let seen = 0
    for (const [other, old] of this.#calls) {
      if (old.heldUntil <= steady) release(old)
      if (old.until <= steady) this.#forget(other)
      seen += 1
      if (seen === MAX_SWEPT) break
    }
    const [oldest] = this.#calls.keys()
    if (oldest !== undefined && this.#calls.size >= MAX_CALLS) this.#forget(oldest)
    for (const { lease } of parts) lease.block.hold()
    const until = steady + ttlMs
    const heldUntil = steady + Math.min(ttlMs, MAX_HELD_MS)
    const overruns = new Map<Served, Overrun>()
    this.#calls.set(id, { parts, isInStore, until, heldUntil, isHeld: true, overruns })
  }

  /** Settles a reservation. Returns `undefined` if no lease has served it. */
  settle(operation: Settling, now: Moment): Promise<SettleResult | undefined> | undefined {
    const call = this.#calls.get(operation.data.id)
    if (!call) return undefined
    const settling = (call.settling ?? Promise.resolve())
      .catch(() => {})
      .then(() =>
        call.isInStore
          ? this.#settleBoth(call, operation, now)
          : this.#settleHere(call, operation, now),
      )
    call.settling = settling
    return settling
  }

  async #settleHere(
    call: HeldCall,
    { data, startedAt }: Settling,
    now: Moment,
  ): Promise<SettleResult | undefined> {
    if (now.steady >= call.until) {
      this.#forget(data.id)
      return undefined
    }
    if (call.settled) return call.settled
    return { applied: await this.#correct(call, data, startedAt, now), wasReleased: false }
  }

  /** Settles what the store has charged, and then what leases have served. The mark in the store decides who does. */
  async #settleBoth(
    call: HeldCall,
    { kind, data, near, startedAt, onFault = () => {} }: Settling,
    now: Moment,
  ): Promise<SettleResult | undefined> {
    const { corrections } = data
    const others = corrections.filter((correction) => !partOf(call, correction))
    const facts = { ...data, corrections: others, startedAt, onFault }
    const { asked } = call
    call.asked ??= data
    const settling = settleOperation(kind as never, facts)
    const result = await this.#store.run({ ...settling, near: near ?? [] })
    if (result === undefined) {
      this.#forget(data.id)
      return undefined
    }
    if ('before' in result) {
      // By a settlement of this process whose reply was lost; or by another process, which has left the leases alone.
      if (!call.settled && asked) await this.#correct(call, asked, startedAt, now)
      release(call)
      call.settled ??= { ...result, before: new Map() }
      return { ...result, before: new Map([...result.before, ...call.settled.before]) }
    }
    const applied = await this.#correct(call, data, startedAt, now)
    const inStore = result.applied.values()
    const all = corrections.map((correction, at) =>
      partOf(call, correction) ? (applied[at] ?? 0) : (inStore.next().value ?? 0),
    )
    return { ...result, applied: all }
  }

  /** Corrects what leases have served. Returns the units charged by each correction, 0 for those of the store. */
  async #correct(
    call: HeldCall,
    data: SettleRequest,
    startedAt: number,
    now: Moment,
  ): Promise<number[]> {
    const { corrections } = data
    for (const correction of corrections) {
      const part = partOf(call, correction)
      const more = part ? correction.actual - part.entry.cost : 0
      if (!part || more <= 0 || call.overruns.has(part)) continue
      const overrun = new Overrun(
        this.#store,
        part.entry,
        part.lease.block.request,
        more - part.lease.move(more, now),
      )
      call.overruns.set(part, overrun)
    }
    // If the store fails, this settlement may be repeated.
    for (const overrun of call.overruns.values()) await overrun.charge(data, startedAt)
    const applied = corrections.map((correction) => {
      const part = partOf(call, correction)
      if (!part) return 0
      const more = correction.actual - part.entry.cost
      return more < 0 ? part.lease.move(more, now) : more
    })
    const before = new Map(corrections.map(({ markIndex }, at) => [markIndex, applied[at] ?? 0]))
    call.settled = { before, attempt: data.attempt, wasReleased: false }
    call.until = now.steady + SETTLED_MS
    release(call)
    return applied
  }

  #forget(id: string): void {
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    if (call) release(call)
  }
}

const partOf = ({ parts }: HeldCall, { key }: Correction): Served | undefined =>
  parts.find(({ entry }) => entry.key === key)

function release(call: HeldCall): void {
  if (!call.isHeld) return
  call.isHeld = false
  for (const { lease } of call.parts) lease.block.release()
}
