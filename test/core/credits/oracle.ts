/* The steps of the oracle: see `oracle-books.ts`. It shares no code with the packages. */
import {
  byUse,
  endAfter,
  FOREVER,
  isSameLot,
  OracleBooks,
  type Draw,
  type GrantId,
  type Lot,
  type Terms,
} from './oracle-books.ts'

export interface GrantStep {
  readonly id: string
  readonly units: number
  readonly at: number
  readonly priority: number
  readonly from: number
  readonly until: number
  readonly kind: 'paid' | 'promotional'
}

interface Change {
  readonly applied: boolean
  readonly units: number
}

export class Oracle extends OracleBooks {
  /** Decides a call whose cost is final. */
  check(terms: Terms, now: number, units: number) {
    return this.#decide(terms, now, units, () => {
      this.books.settled += units
    })
  }

  /** Looks at a call that is not made. */
  peek(terms: Terms, now: number, units: number) {
    const answer = this.copy().check(terms, now, units)
    return { ...answer, remaining: answer.remaining + (answer.allowed ? units : 0) }
  }

  /** Decides a call that is settled later. */
  reserve(terms: Terms, now: number, units: number, id: string, within: number) {
    return this.#decide(terms, now, units, (draws) => {
      if (units > 0) this.holds.push({ id, units, due: now + within, draws })
    })
  }

  /**
   * Settles a reservation that was never settled before. One that was given back meanwhile is charged now. Its plan may be
   * another one by now, so no period begins.
   */
  settle(terms: Terms, now: number, id: string, used: number): void {
    this.update(terms, now, false)
    this.books.settled += used
    const hold = this.holds.find((one) => one.id === id)
    let unpaid = used
    if (hold) {
      this.holds.splice(this.holds.indexOf(hold), 1)
      const unused: Draw[] = []
      for (const draw of hold.draws) {
        const spent = Math.min(unpaid, draw.units)
        unpaid -= spent
        unused.push({ ...draw, units: draw.units - spent })
      }
      this.giveBack(unused, now)
    }
    this.take(unpaid, now)
  }

  /** The operator's settlement. */
  settleHold(terms: Terms, now: number, id: string, used: number): Change {
    const copy = this.copy()
    copy.update(terms, now, false)
    if (!copy.holds.some((one) => one.id === id)) return { applied: false, units: 0 }
    this.settle(terms, now, id, used)
    return { applied: true, units: used }
  }

  grant(terms: Terms, now: number, step: GrantStep): Change | string {
    const { id, units, at, priority, from, until, kind } = step
    const lot = { priority, from, until, kind }
    return this.#add(terms, now, { id, units, at, facts: JSON.stringify(['grant', lot]), lot })
  }

  adjust(terms: Terms, now: number, id: string, units: number, at: number): Change | string {
    return this.#add(terms, now, { id, units, at, facts: 'adjust', lot: undefined })
  }

  revoke(
    terms: Terms,
    now: number,
    id: string,
    owes: boolean,
  ): (Change & { owed: number }) | string {
    const known = this.ids.get(id)
    if (!known?.lot) return 'grant_unknown'
    const before = known.revoked
    if (before) {
      const rest = known.units - before.units
      if (!owes || rest === 0) return { applied: false, ...before }
      this.update(terms, now, false)
      this.books.revoked += rest
      this.debt += rest
      this.payDebt(now)
      known.revoked = { units: known.units, owed: before.owed + rest }
      return { applied: true, units: rest, owed: rest }
    }
    this.update(terms, now, false)
    const lot = this.lots.find((one) => isSameLot(one, known.lot as Lot))
    const taken = Math.min(known.units, lot?.left ?? 0)
    if (lot) lot.left -= taken
    const owed = owes ? known.units - taken : 0
    this.books.revoked += taken + owed
    this.debt += owed
    this.payDebt(now)
    known.revoked = { units: taken + owed, owed }
    return { applied: true, ...known.revoked }
  }

  /** The balance as somebody reads it. */
  look(terms: Terms, now: number) {
    const copy = this.copy()
    copy.update(terms, now)
    const { lots, holds, debt, books, allowance } = copy
    const kept = lots.filter(({ left }) => left > 0).toSorted(byUse)
    return {
      balance: allowance.left + kept.reduce((total, { left }) => total + left, 0) - debt,
      available: copy.available(now),
      held: sum(holds.filter(({ due }) => due > now)),
      abandoned: sum(holds.filter(({ due }) => due <= now)),
      debt,
      totals: { ...books },
      lots: [
        ...(allowance.left > 0 ? [['included', allowance.left, allowance.until]] : []),
        ...kept.map(({ kind, left, priority, from, until }) => [
          kind,
          left,
          priority,
          from > now ? from : 0,
          until,
        ]),
      ],
      holds: holds.map(({ id, units, due }) => [id, units, due]),
      renewsAt: now < allowance.until ? allowance.until : undefined,
    }
  }

  /** The balance as a change tells it, which knows no plan and so begins no period. */
  after(terms: Terms, now: number) {
    const copy = this.copy()
    copy.update(terms, now, false)
    return { available: copy.available(now), held: sum(copy.holds), debt: copy.debt }
  }

  copy(): Oracle {
    return this.copyTo(new Oracle())
  }

  #decide(terms: Terms, now: number, units: number, onAllowed: (draws: Draw[]) => void) {
    const copy = this.copy()
    copy.update(terms, now)
    const available = copy.available(now)
    if (units > available) {
      return { allowed: false, remaining: available, waits: this.#waits(terms, now, units) }
    }
    if (units > 0) {
      this.update(terms, now)
      onAllowed(this.draw(units, now))
    }
    return { allowed: true, remaining: available - units, waits: [0] }
  }

  /**
   * The waits after which a denied cost may be allowed, if nobody else asks: the first that does, or `null`. Of what
   * comes later than the second renewal, nothing is promised: then both are given.
   */
  #waits(terms: Terms, now: number, units: number): (number | null | 'later')[] {
    const copy = this.copy()
    copy.update(terms, now)
    const { included } = terms
    const next = included ? copy.allowance.until : FOREVER
    const second = included ? endAfter(included.every, next) : FOREVER
    const moments = [...copy.lots.filter(({ left }) => left > 0).map(({ from }) => from), next]
    const inOrder = moments.filter((at) => at > now && at < FOREVER).toSorted((a, b) => a - b)
    for (const at of inOrder.filter((moment) => moment < second)) {
      const then = copy.copy()
      then.update({ ...terms, releases: false }, at)
      if (units <= then.available(at)) return [at - now]
    }
    return inOrder.some((moment) => moment >= second) ? [null, 'later'] : [null]
  }

  #add(
    terms: Terms,
    now: number,
    { id, units, at, facts, lot }: Pick<GrantId, 'at' | 'units' | 'facts' | 'lot'> & { id: string },
  ): Change | string {
    const known = this.ids.get(id)
    if (known) {
      const isSame = known.units === units && known.facts === facts
      return isSame ? { applied: false, units } : 'grant_differs'
    }
    if (at < now - 90 * 86_400_000) return 'grant_too_old'
    if (lot && lot.until <= now) return 'grant_expired'
    this.update(terms, now, false)
    this.ids.set(id, { at, units, facts, lot, revoked: undefined })
    this.books[lot ? 'granted' : 'adjusted'] += units
    if (units < 0) this.takeBack(-units, now)
    else this.put(lot ?? { priority: 100, from: 0, until: FOREVER, kind: 'paid' }, units)
    this.payDebt(now)
    return { applied: true, units }
  }
}

const sum = (all: readonly { units: number }[]): number =>
  all.reduce((total, { units }) => total + units, 0)
