import assert from 'node:assert/strict'
import type { Limiter, ManualClock, Store, Subject } from '@sluice/core'
import { reservation, reserve, type Reservation } from '@sluice/core/reservations'
import type { Operation } from './operations.ts'

/** Units that a policy was charged at a moment. */
interface Charge {
  readonly at: number
  units: number
}

/** The rule by which a policy counts its charges, as one would explain it. */
export interface Account {
  /** Returns true if what was charged at `at` is still counted at `now`; what is not is not given back. */
  readonly counts: (at: number, now: number) => boolean
  /** Of a bucket: what was charged leaks by this, and what is used beyond it is charged when it is told. */
  readonly leaks?: { readonly units: number; readonly windowMs: number }
  /** The most charges, from the one that is corrected on, with which it is corrected where it is. */
  readonly mostLater?: number
}

/** A reservation as the books have it. */
interface Booking {
  readonly reservation: Reservation
  readonly reserved: number
  /** Its charges by policy. */
  readonly charges: ReadonlyMap<string, Charge>
  state: 'live' | 'settled' | 'expired'
  /** The units that the first settlement reported. */
  used: number
}

/** Units by what became of them; what was reserved is what was settled, returned or is live. */
interface Books {
  reserved: number
  settled: number
  returned: number
  overrun: number
}

const tokens = (units: number): Record<string, number> => (units > 0 ? { token: units } : {})

/** Lives through operations on one partition, and keeps books beside the store. */
export class Ledger {
  readonly books: Books = { reserved: 0, settled: 0, returned: 0, overrun: 0 }
  readonly bookings: Booking[] = []
  readonly #limiter: Limiter
  readonly #store: Store
  readonly #clock: ManualClock
  readonly #subject: Subject
  readonly #accounts: Readonly<Record<string, Account>>
  /** By policy, in the order of time. */
  readonly #charges: ReadonlyMap<string, Charge[]>

  constructor(
    limiter: Limiter,
    store: Store,
    clock: ManualClock,
    subject: Subject,
    accounts: Readonly<Record<string, Account>>,
  ) {
    this.#limiter = limiter
    this.#store = store
    this.#clock = clock
    this.#subject = subject
    this.#accounts = accounts
    this.#charges = new Map(Object.keys(accounts).map((name) => [name, []]))
  }

  async live(operation: Operation): Promise<void> {
    this.#clock.advance(operation.waitMs)
    if (operation.kind === 'reserve') return this.#reserve(operation.units)
    const booking = this.bookings[Math.floor(operation.which * this.bookings.length)]
    if (booking === undefined) return
    if (operation.kind === 'settle') return this.#settle(booking, operation.units)
    if (operation.kind === 'cancel') return this.#settle(booking, 0)
    // The mark expires, or its holder crashes: the estimate stays charged.
    const { id } = booking.reservation.toJSON()
    await this.#store.reset([`hold:${id}`])
    if (booking.state === 'live') booking.state = 'expired'
  }

  async #reserve(units: number): Promise<void> {
    const cost = { token: units }
    const decision = await reserve(this.#limiter, this.#subject, { cost, settleWithin: '365d' })
    assert.equal(decision.degraded, undefined)
    if (!decision.allowed) return
    // Half of them are settled by someone else, who has it as JSON.
    const text = JSON.stringify(decision)
    const own = units % 2 === 0 ? decision : reservation(this.#limiter, text)
    const charges = new Map<string, Charge>()
    for (const [name, all] of this.#charges) {
      const charge = { at: this.#clock(), units }
      charges.set(name, charge)
      all.push(charge)
    }
    this.bookings.push({ reservation: own, reserved: units, charges, state: 'live', used: units })
    this.books.reserved += units
  }

  async #settle(booking: Booking, units: number): Promise<void> {
    const { reservation: own, reserved, state } = booking
    const done = await (units === 0 ? own.cancel() : own.settle({ token: units }))
    assert.equal(done.applied, state === 'live')
    if (!done.applied) {
      assert.equal(done.why, 'settled_before')
      const moved = [done.returned, done.overrun]
      // The report of the first one, or nothing once that is forgotten.
      const first = [tokens(reserved - booking.used), tokens(booking.used - reserved)]
      assert.deepEqual(
        moved,
        Object.keys({ ...moved[0], ...moved[1] }).length > 0 ? first : [{}, {}],
      )
      return
    }
    // Of what the policies give back, which is told in one number, it is the most.
    let returned = 0
    for (const [name, charge] of booking.charges) {
      returned = Math.max(returned, this.#correct(name, charge, reserved, units))
    }
    const overrun = Math.max(0, units - reserved)
    assert.deepEqual(done.returned, returned > 0 ? { token: returned } : {})
    assert.deepEqual(done.overrun, overrun > 0 ? { token: overrun } : {})
    booking.state = 'settled'
    booking.used = units
    this.books.settled += reserved - returned
    this.books.returned += returned
    this.books.overrun += overrun
  }

  /** Corrects one charge, and returns the units given back. */
  #correct(name: string, charge: Charge, reserved: number, units: number): number {
    const { counts, leaks, mostLater = Infinity } = this.#accounts[name] as Account
    const all = this.#charges.get(name) as Charge[]
    const now = this.#clock()
    const later = all.filter((one) => one.units > 0 && one.at >= charge.at).length
    const isCorrected = counts(charge.at, now) && later <= mostLater
    if (units > reserved && (leaks || !isCorrected)) all.push({ at: now, units: units - reserved })
    else if (leaks || isCorrected) charge.units = units
    if (units >= reserved) return 0
    if (!leaks) return isCorrected ? reserved - units : 0
    // As if this charge had been the first to leak.
    const left = (of: number): number =>
      Math.max(0, of * leaks.windowMs - leaks.units * (now - charge.at))
    return Math.floor((left(reserved) - left(units)) / leaks.windowMs)
  }

  /** Units that are reserved and not settled. */
  get unsettled(): number {
    const open = this.bookings.filter(({ state }) => state !== 'settled')
    return open.reduce((sum, { reserved }) => sum + reserved, 0)
  }

  /** Units that were charged to a policy after `since`. */
  chargedSince(name: string, since: number): number {
    const all = this.#charges.get(name) as Charge[]
    return all.reduce((sum, { at, units }) => (at > since ? sum + units : sum), 0)
  }

  /** The units that would be left in a bucket if only the present charges had ever been made. */
  bucketLeft(name: string, perMs: number, burst: number, now: number): number {
    let [used, since] = [0, 0]
    for (const { at, units } of this.#charges.get(name) as Charge[]) {
      used = Math.max(0, used - (at - since) * perMs) + units
      since = at
    }
    return burst - Math.max(0, used - (now - since) * perMs)
  }
}
