/*
 * A balance of credits, written from its definition alone, as slowly as it likes. It shares no code with the packages.
 *
 * Each step brings the balance up to date before it does anything: reservations that are due are given back if the policy
 * releases, lots that have expired are booked, the allowance begins its period, debt is paid. A look does the same to a copy.
 */

const DAY = 86_400_000
export const FOREVER = Number.POSITIVE_INFINITY

/** A version of a policy of credits. */
export interface Terms {
  readonly releases: boolean
  readonly included?: {
    readonly amount: number
    readonly rollover: number
    /** Days that begin so many hours before those of UTC, or months of UTC. */
    readonly every: 'month' | { readonly hoursAhead: number }
  }
}

/** The rest of grants that differ in nothing that their use depends on. */
export interface Lot {
  readonly priority: number
  readonly from: number
  readonly until: number
  readonly kind: 'paid' | 'promotional'
  left: number
}

/** Units taken from a lot, or from the allowance that ends at `until`. */
export interface Draw {
  readonly lot: Omit<Lot, 'left'> | 'allowance'
  readonly until: number
  units: number
}

interface Hold {
  readonly id: string
  readonly units: number
  readonly due: number
  readonly draws: Draw[]
}

export interface GrantId {
  readonly at: number
  readonly units: number
  /** All that a repeated grant must have in common with it. */
  readonly facts: string
  readonly lot: Omit<Lot, 'left'> | undefined
  revoked: { readonly units: number; readonly owed: number } | undefined
}

interface Books {
  granted: number
  adjusted: number
  revoked: number
  expired: number
  settled: number
}

/** The state of a balance, and what brings it up to date. */
export class OracleBooks {
  lots: Lot[] = []
  holds: Hold[] = []
  debt = 0
  books: Books = { granted: 0, adjusted: 0, revoked: 0, expired: 0, settled: 0 }
  /** The rest of the allowance, its end, and the most that this period has had of the plan. */
  allowance = { left: 0, until: 0, amount: 0 }
  readonly ids = new Map<string, GrantId>()

  protected copyTo<Copy extends OracleBooks>(copy: Copy): Copy {
    copy.lots = structuredClone(this.lots)
    copy.holds = structuredClone(this.holds)
    copy.debt = this.debt
    copy.books = { ...this.books }
    copy.allowance = { ...this.allowance }
    return copy
  }

  update(terms: Terms, now: number, renews = true): void {
    if (terms.releases) {
      const due = this.holds.filter((hold) => hold.due <= now)
      this.holds = this.holds.filter((hold) => hold.due > now)
      for (const hold of due) this.giveBack(hold.draws, now)
    }
    for (const lot of this.lots.filter(({ until }) => until <= now)) {
      this.books.expired += lot.left
      lot.left = 0
    }
    if (renews && terms.included) this.renew(terms.included, now)
    if (renews && !terms.included && now >= this.allowance.until) {
      this.books.expired += this.allowance.left
      this.allowance.left = 0
    }
    this.payDebt(now)
  }

  protected renew({ amount, rollover, every }: NonNullable<Terms['included']>, now: number): void {
    const { allowance, books } = this
    if (now < allowance.until) {
      const more = Math.max(0, amount - allowance.amount)
      allowance.left += more
      allowance.amount += more
      books.granted += more
      return
    }
    const before = allowance.left
    // Periods in which nobody wrote had the allowance of the last one.
    let end = allowance.until === 0 ? endAfter(every, now) : endAfter(every, allowance.until)
    let left = allowance.until === 0 ? 0 : Math.min(rollover, before)
    while (end <= now) {
      left = Math.min(rollover, left + allowance.amount)
      end = endAfter(every, end)
    }
    books.expired += Math.max(0, before - left)
    books.granted += amount + Math.max(0, left - before)
    this.allowance = { left: amount + left, until: end, amount }
  }

  available(now: number): number {
    const allowed = now < this.allowance.until ? this.allowance.left : 0
    const usable = this.lots.filter((lot) => lot.from <= now && now < lot.until)
    return Math.max(0, usable.reduce((sum, { left }) => sum + left, allowed) - this.debt)
  }

  /** Takes what is there, up to so many units. */
  protected draw(units: number, now: number): Draw[] {
    const draws: Draw[] = []
    let rest = units
    if (now < this.allowance.until) {
      const taken = Math.min(rest, this.allowance.left)
      this.allowance.left -= taken
      rest -= taken
      if (taken > 0) draws.push({ lot: 'allowance', until: this.allowance.until, units: taken })
    }
    for (const lot of this.lots.toSorted(byUse)) {
      if (lot.from > now || lot.until <= now) continue
      const taken = Math.min(rest, lot.left)
      lot.left -= taken
      rest -= taken
      const { left: _, ...facts } = lot
      if (taken > 0) draws.push({ lot: facts, until: lot.until, units: taken })
    }
    return draws
  }

  /** Takes units, and owes those that are not there. */
  take(units: number, now: number): void {
    const draws = this.draw(Math.min(units, this.available(now)), now)
    this.debt += units - draws.reduce((sum, draw) => sum + draw.units, 0)
  }

  /** Takes units as a refund does, one by one: of paid lots, then of others, and of these of one that lasts longest. */
  takeBack(units: number, now: number): void {
    for (let taken = 0; taken < units; taken += 1) {
      const full = this.lots.filter(({ left }) => left > 0)
      const paid = full.filter(({ kind }) => kind === 'paid')
      const candidates = paid.length > 0 ? paid : full
      const latest = Math.max(...candidates.map(({ until }) => until))
      const [lot] = candidates.filter(({ until }) => until === latest).toSorted(byUse)
      if (lot) lot.left -= 1
      else this.take(1, now)
    }
  }

  payDebt(now: number): void {
    const owed = this.debt
    this.debt = 0
    const paid = this.draw(owed, now).reduce((sum, draw) => sum + draw.units, 0)
    this.debt = owed - paid
  }

  /** The lot drawn from last gets its units first. Debt comes before all lots. */
  protected giveBack(draws: readonly Draw[], now: number): void {
    for (const { lot, until, units } of draws.toReversed()) {
      const paid = Math.min(this.debt, units)
      this.debt -= paid
      const rest = units - paid
      if (now >= until) this.books.expired += rest
      else if (lot === 'allowance') this.allowance.left += rest
      else this.put(lot, rest)
    }
  }

  protected put(facts: Omit<Lot, 'left'>, units: number): void {
    const lot = this.lots.find((one) => isSameLot(one, facts))
    if (lot) lot.left += units
    else this.lots.push({ ...facts, left: units })
  }
}
export const isSameLot = (a: Omit<Lot, 'left'>, b: Omit<Lot, 'left'>): boolean =>
  a.priority === b.priority && a.from === b.from && a.until === b.until && a.kind === b.kind

/** Priority, the soonest end, promotional before paid, the oldest. */
export function byUse(a: Lot, b: Lot): number {
  if (a.priority !== b.priority) return a.priority - b.priority
  if (a.until !== b.until) return a.until < b.until ? -1 : 1
  if (a.kind !== b.kind) return a.kind === 'promotional' ? -1 : 1
  return a.from - b.from
}

/** The first end of a period after a time. */
export function endAfter(every: NonNullable<Terms['included']>['every'], at: number): number {
  if (every === 'month') {
    const date = new Date(at)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
  }
  const ahead = every.hoursAhead * 3_600_000
  return (Math.floor((at + ahead) / DAY) + 1) * DAY - ahead
}
