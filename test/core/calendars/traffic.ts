import assert from 'node:assert/strict'
import { dailyCap, fixedWindow, monthlyCap, type Decision, type Store } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { reserve, type Reservation } from '@sluice/core/reservations'
import { ACME, setUp } from '../../support/limiters.ts'
import { HOUR, MINUTE } from '../../support/times.ts'
import { Random } from '../../world/random.ts'
import { boundariesOf, type Anchor } from './oracle/boundaries.ts'
import { nearestVersion, tableOf } from './oracle/tables.ts'

const TABLE = tableOf(nearestVersion(process.versions['tz'] ?? ''))

const per = ['tenant'] as const
const policiesIn = (zone: string) => [
  dailyCap({ name: 'day', limit: 30, per, resets: calendar({ zone }) }),
  fixedWindow({
    name: 'week',
    limit: 150,
    per,
    resets: calendar({ every: 'week', zone, on: { weekday: 'sunday', hour: 2 } }),
  }),
  monthlyCap({
    name: 'month',
    limit: 420,
    per,
    resets: calendar({ zone: () => zone, on: { day: 29 } }),
  }),
]

const midnight = { month: 1, day: 1, weekday: 0, hour: 0 }
const ANCHORS: readonly Anchor[] = [
  { ...midnight, every: 'day' },
  { ...midnight, every: 'week', weekday: 6, hour: 2 },
  { ...midnight, every: 'month', day: 29 },
]
const LIMITS = [30, 150, 420]

/** The books of one policy, by the tables of tz. */
class Book {
  readonly #ends: readonly number[]
  readonly #limit: number
  #used = 0
  #end = 0

  constructor(zone: string, anchor: Anchor, limit: number) {
    this.#ends = boundariesOf(TABLE.get(zone) ?? [], anchor)
    this.#limit = limit
  }

  endAt(now: number): number {
    return this.#ends.find((end) => end > now) ?? NaN
  }

  usedAt(now: number): number {
    return this.#end > now ? this.#used : 0
  }

  fits(cost: number, now: number): boolean {
    return cost === 0 || this.usedAt(now) + cost <= this.#limit
  }

  charge(units: number, now: number): void {
    if (units === 0) return
    this.#used = this.usedAt(now) + units
    this.#end = this.endAt(now)
  }

  /** Returns the units that a settlement moves; those charged at `at`. */
  settle(at: number, reserved: number, actual: number, now: number): number {
    const before = this.usedAt(now)
    if (actual <= reserved) {
      if (reserved === 0 || this.#end !== this.endAt(at) || now >= this.#end) return 0
      this.#used = Math.max(0, before + actual - reserved)
      return this.#used - before
    }
    // The reservation knows the period that follows its own, and no later one.
    const known = this.#end > now || now < this.endAt(this.endAt(at))
    if (known) this.charge(actual - reserved, now)
    return known ? actual - reserved : 0
  }
}

interface Open {
  readonly at: number
  readonly cost: number
  readonly due: number
  readonly actual: number
  readonly calls: readonly Reservation[]
}

const factsOf = ({ allowed, reason, retryAfterMs, policies }: Decision) => ({
  allowed,
  reason,
  retryAfterMs,
  policies,
})

/** Traffic of one tenant on a limiter over each store, with books beside them. */
export class Traffic {
  denied = 0
  readonly #random: Random
  readonly #books: readonly Book[]
  readonly #sides: readonly ReturnType<typeof setUp>[]
  #open: Open[] = []

  constructor(zone: string, stores: readonly Store[]) {
    this.#random = new Random(zone)
    this.#books = ANCHORS.map((anchor, index) => new Book(zone, anchor, LIMITS[index] ?? 0))
    this.#sides = stores.map((store) => setUp(policiesIn(zone), { store, onStoreError: 'deny' }))
  }

  async hour(begin: number): Promise<void> {
    const now = begin + this.#random.whole(0, 40) * MINUTE
    for (const { clock } of this.#sides) clock.set(now)
    await this.#settleDue(now)
    await this.#ask(now)
  }

  async #ask(now: number): Promise<void> {
    const request = this.#random.chance(0.1) ? 0 : this.#random.whole(1, 4)
    const act = this.#random.weighted({ check: 6, peek: 2, reserve: 4 })
    const cost = { request }
    const decisions = await Promise.all(
      this.#sides.map(async ({ limiter }): Promise<Decision> =>
        act === 'reserve'
          ? reserve(limiter, ACME, { cost, settleWithin: '30d' })
          : limiter[act](ACME, { cost }),
      ),
    )
    const [first, ...others] = decisions.map(factsOf)
    for (const other of others) assert.deepEqual(other, first)
    const waits = this.#books.map((book) => (book.fits(request, now) ? 0 : book.endAt(now) - now))
    const wait = Math.max(...waits)
    assert.deepEqual([first?.allowed, first?.retryAfterMs], [wait === 0, wait])
    if (wait > 0) this.denied += 1
    for (const [index, book] of this.#books.entries()) {
      if (wait === 0 && act !== 'peek') book.charge(request, now)
      const state = first?.policies[index]
      const left = Math.max(0, (LIMITS[index] ?? 0) - book.usedAt(now))
      assert.deepEqual([state?.remaining, state?.resetMs], [left, book.endAt(now) - now])
      assert.equal(Date.parse(state?.resetsAt?.replace(/\[.*/, '') ?? ''), book.endAt(now))
    }
    if (act !== 'reserve' || wait > 0) return
    const calls = decisions.map((decision) => decision as never as Reservation)
    const actual = this.#random.whole(0, 2 * request)
    this.#open.push({
      at: now,
      cost: request,
      due: now + this.#random.gap(20 * HOUR),
      actual,
      calls,
    })
  }

  async #settleDue(now: number): Promise<void> {
    const due = this.#open.filter((one) => one.due <= now)
    this.#open = this.#open.filter((one) => one.due > now)
    for (const { at, cost, actual, calls } of due) {
      const settled = await Promise.all(calls.map((call) => call.settle({ request: actual })))
      const moved = this.#books.map((book) => book.settle(at, cost, actual, now))
      const [most, least] = [Math.max(0, ...moved), Math.max(0, ...moved.map((units) => -units))]
      for (const one of settled) {
        assert.deepEqual(one, settled[0])
        const { overrun, returned } = one
        assert.deepEqual([overrun['request'] ?? 0, returned['request'] ?? 0], [most, least])
      }
    }
  }
}
