import assert from 'node:assert/strict'
import type { Limiter, ManualClock, Reservation, Store, Subject } from '@sluice/core'
import type { Operation } from './operations.ts'

/** A reservation as the books have it. */
interface Booking {
  readonly reservation: Reservation
  readonly at: number
  readonly reserved: number
  state: 'live' | 'settled' | 'expired'
  /** Units that are charged by it. */
  charged: number
}

/** Units by what became of them; what was reserved is what was settled, returned or is live. */
interface Books {
  reserved: number
  settled: number
  returned: number
  overrun: number
}

/** Lives through operations on one partition, and keeps books beside the store. */
export class Ledger {
  readonly books: Books = { reserved: 0, settled: 0, returned: 0, overrun: 0 }
  readonly bookings: Booking[] = []
  readonly #limiter: Limiter
  readonly #store: Store
  readonly #clock: ManualClock
  readonly #subject: Subject

  constructor(limiter: Limiter, store: Store, clock: ManualClock, subject: Subject) {
    this.#limiter = limiter
    this.#store = store
    this.#clock = clock
    this.#subject = subject
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
    const decision = await this.#limiter.reserve(this.#subject, { cost, settleWithin: '365d' })
    assert.equal(decision.degraded, undefined)
    if (!decision.allowed) return
    // Half of them are settled by someone else, who has it as JSON.
    const text = JSON.stringify(decision)
    const reservation = units % 2 === 0 ? decision : this.#limiter.reservation(text)
    const at = this.#clock()
    this.bookings.push({ reservation, at, reserved: units, state: 'live', charged: units })
    this.books.reserved += units
  }

  async #settle(booking: Booking, units: number): Promise<void> {
    const { reservation, reserved, state } = booking
    const done =
      units === 0 ? await reservation.cancel() : await reservation.settle({ token: units })
    assert.equal(done.applied, state === 'live')
    if (!done.applied) {
      assert.deepEqual(done, { applied: false, returned: {}, overrun: {} })
      return
    }
    const [returned, overrun] = [Math.max(0, reserved - units), Math.max(0, units - reserved)]
    assert.equal(done.returned['token'] ?? 0, returned)
    assert.equal(done.overrun['token'] ?? 0, overrun)
    booking.state = 'settled'
    booking.charged = units
    this.books.settled += reserved - returned
    this.books.returned += returned
    this.books.overrun += overrun
  }

  /** Units that are reserved and not settled. */
  get unsettled(): number {
    return this.#sum((booking) => (booking.state === 'settled' ? 0 : booking.charged))
  }

  /** Units that were charged after `since`. */
  chargedSince(since: number): number {
    return this.#sum(({ at, charged }) => (at > since ? charged : 0))
  }

  /** What would be left in a bucket if only what is charged by now had ever flowed out of it. */
  bucketLeft(perMs: number, burst: number, now: number): number {
    let [used, since] = [0, 0]
    for (const { at, charged } of this.bookings) {
      used = Math.max(0, used - (at - since) * perMs) + charged
      since = at
    }
    return burst - Math.max(0, used - (now - since) * perMs)
  }

  #sum(units: (booking: Booking) => number): number {
    return this.bookings.reduce((sum, booking) => sum + units(booking), 0)
  }
}
