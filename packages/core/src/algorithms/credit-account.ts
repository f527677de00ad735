/*
 * A balance of credits: the rest of each grant, units that open reservations hold, and a journal. Its Lua twin, in
 * `credit-account-lua.ts`, has the same steps under the same names, in the same order.
 *
 * The law: granted + adjusted - revoked - expired - settled - held = lots - debt. Each step below keeps it.
 */
import { endAllowance, renewAllowance } from './credit-allowance.ts'
import { CreditJournal } from './credit-journal.ts'
import {
  byPosition,
  hasExpired,
  INCLUDED,
  inOrder,
  isUsable,
  lotFacts,
  MAX_ENTRIES,
  split,
  SUMS,
  type CreditParams,
  type CreditState,
  type CreditTerms,
  type Hold,
  type Lot,
  type Part,
  type Sums,
} from './credit-state.ts'

const NOTHING: CreditState = {
  sums: Object.fromEntries(SUMS.map((name) => [name, 0])) as Sums,
  lots: [],
  spent: [],
  holds: {},
  journal: [],
}

/** An account in one step: a copy, so that a look changes nothing. */
export class CreditAccount {
  readonly sums: Sums
  lots: readonly Lot[]
  readonly journal: CreditJournal
  /** False if the end of the allowance's period is not known: the caller's clock is days wrong. */
  isKnown = true
  readonly #state: CreditState
  readonly #now: number
  readonly #holds = new Map<string, Hold | undefined>()

  constructor(state: CreditState | undefined, now: number, terms: CreditTerms) {
    this.#state = state ?? { ...NOTHING, holds: {}, journal: [] }
    this.#now = now
    this.sums = { ...this.#state.sums }
    this.lots = this.#state.lots
    this.journal = new CreditJournal(this.sums, this.#state.spent, now)
    const [hasAllowance, , , releases] = terms.params as CreditParams
    if (releases === 1 && this.sums.due > 0 && this.sums.due <= now) this.#releaseDue()
    this.#expire()
    if (terms.limit !== undefined) {
      if (hasAllowance === 1) {
        this.isKnown = renewAllowance(this.sums, this.journal, terms as Required<CreditTerms>, now)
      } else {
        endAllowance(this.sums, this.journal, now)
      }
    }
    this.#payDebt()
  }

  /** The open reservations, by position. */
  get holds(): ReadonlyMap<string, Hold> {
    const all = new Map(Object.entries(this.#state.holds))
    for (const [position, hold] of this.#holds) {
      if (hold) all.set(position, hold)
      else all.delete(position)
    }
    return all
  }

  /** The units that a charge may take now. */
  available(): number {
    return Math.max(0, this.#unitsAt(this.#now) - this.sums.debt)
  }

  /** The milliseconds until units fit if nothing else is charged: -1 for never. Counts one reset of the allowance. */
  retryMs(units: number, { limit = 0, params }: CreditTerms): number {
    const { sums } = this
    const [hasAllowance, , rollover] = params as CreditParams
    const starts = this.lots.map(({ name }) => lotFacts(name).effective)
    if (hasAllowance === 1 && this.isKnown) starts.push(sums.finish)
    for (const at of starts.filter((start) => start > this.#now).toSorted((a, b) => a - b)) {
      const isRenewed = hasAllowance === 1 && this.isKnown && at >= sums.finish
      const renewed = isRenewed ? limit + Math.min(rollover, sums.included) : 0
      if (units <= this.#unitsAt(at) + renewed - sums.debt) return at - this.#now
    }
    return -1
  }

  /** The milliseconds until the allowance is renewed: 0 without one. */
  resetMs({ params: [hasAllowance] }: CreditTerms): number {
    return hasAllowance === 1 && this.isKnown ? this.sums.finish - this.#now : 0
  }

  /** Takes units. Returns the position of their reservation; 0 without `holdMs`, for which nobody will settle them. */
  charge(units: number, holdMs: number, id: string): number {
    const { sums } = this
    const parts = this.#draw(units)
    if (holdMs === 0) {
      sums.settled += units
      this.journal.spend(parts)
      return 0
    }
    sums.holds += 1
    sums.held += units
    const due = this.#now + holdMs
    sums.due = sums.due > 0 ? Math.min(sums.due, due) : due
    this.#holds.set(String(sums.holds), { id, units, due, parts })
    return sums.holds
  }

  /**
   * Replaces the units of a reservation by those used. Of one that was given back, all are taken now: its position may
   * be that of another by then, after an import.
   */
  settle(position: number, actual: number, id: string): void {
    const { sums } = this
    const name = String(position)
    const stored = this.#holds.has(name) ? undefined : this.#state.holds[name]
    const hold = stored?.id === id ? stored : undefined
    const used = Math.min(actual, hold?.units ?? 0)
    sums.settled += actual
    if (hold) {
      this.#holds.set(name, undefined)
      sums.held -= hold.units
      if (sums.held === 0) sums.due = 0
      const [spent, rest] = split(hold.parts, used)
      this.journal.spend(spent)
      this.#giveBack(rest)
    }
    const debtBefore = sums.debt
    const parts = this.take(actual - used)
    this.journal.log('debt', debtBefore - sums.debt, '-')
    this.journal.spend(parts)
  }

  /** Takes units, as a debt if there are too few. Returns the lots that they are from. */
  take(units: number): Part[] {
    const parts = this.#draw(Math.min(units, this.available()))
    this.sums.debt += parts.reduce((rest, [, part]) => rest - part, units)
    return parts
  }

  /** Notes a debt, which what is there pays at once. */
  owe(units: number): void {
    this.sums.debt += units
    this.#payDebt()
  }

  /** Adds units to a lot, after the debt. */
  put(name: string, units: number): void {
    const lot = this.lots.find((one) => one.name === name)
    const others = this.lots.filter((one) => one !== lot)
    this.lots = [...others, { name, left: (lot?.left ?? 0) + units }].toSorted(inOrder)
    this.#payDebt()
  }

  /** Takes up to so many units from a lot. Returns how many. */
  takeFrom(name: string, units: number): number {
    const lot = this.lots.find((one) => one.name === name)
    const taken = Math.min(units, lot?.left ?? 0)
    if (lot && taken > 0) this.#setLeft(name, lot.left - taken)
    return taken
  }

  /** Returns the account as it is to be stored. */
  save(): CreditState {
    const { sums, lots } = this
    const { spent, entries } = this.journal
    const { holds, journal } = this.#state
    for (const [position, hold] of this.#holds) {
      if (hold) holds[position] = hold
      else delete holds[position]
    }
    journal.push(...entries)
    journal.splice(0, journal.length - MAX_ENTRIES)
    return { sums, lots, spent, holds, journal }
  }

  /** The units of the running allowance and of all lots that may be used at a time. */
  #unitsAt(at: number): number {
    const { included, finish } = this.sums
    return this.lots
      .filter(({ name }) => isUsable(name, at))
      .reduce((sum, { left }) => sum + left, at < finish ? included : 0)
  }

  /** Takes units that are there: of the allowance, then lot by lot. */
  #draw(units: number): Part[] {
    const { sums } = this
    const parts: Part[] = []
    let rest = units
    const fromAllowance = this.#now < sums.finish ? Math.min(rest, sums.included) : 0
    if (fromAllowance > 0) {
      sums.included -= fromAllowance
      rest -= fromAllowance
      parts.push([`${INCLUDED}:${sums.finish}`, fromAllowance])
    }
    for (const { name, left } of this.lots) {
      const taken = Math.min(rest, left)
      if (taken === 0 || !isUsable(name, this.#now)) continue
      rest -= taken
      parts.push([name, taken])
      this.#setLeft(name, left - taken)
    }
    return parts
  }

  /** Gives units back to the lots that they are from, the last first. Those of one that has expired expire. */
  #giveBack(parts: readonly Part[]): void {
    const { sums } = this
    for (const [lot, units] of parts.toReversed()) {
      if (units === 0) continue
      const paid = Math.min(sums.debt, units)
      sums.debt -= paid
      const rest = units - paid
      if (rest === 0) continue
      if (lot === `${INCLUDED}:${sums.finish}` && this.#now < sums.finish) sums.included += rest
      else if (!lot.startsWith(INCLUDED) && !hasExpired(lot, this.#now)) this.put(lot, rest)
      else {
        sums.expired += rest
        this.journal.log('expired', -rest, lot)
      }
    }
  }

  #payDebt(): void {
    const { sums } = this
    if (sums.debt === 0) return
    // `available` is what the debt leaves.
    const debt = sums.debt
    sums.debt = 0
    const paid = Math.min(debt, this.available())
    this.#draw(paid)
    sums.debt = debt - paid
  }

  #expire(): void {
    for (const { name, left } of this.lots) {
      if (!hasExpired(name, this.#now)) continue
      this.#setLeft(name, 0)
      this.sums.expired += left
      this.journal.log('expired', -left, name)
    }
  }

  /** Gives back the reservations that nobody has settled in time. */
  #releaseDue(): void {
    const { sums } = this
    sums.due = 0
    for (const [position, hold] of byPosition(this.holds)) {
      if (hold.due > this.#now) {
        sums.due = sums.due > 0 ? Math.min(sums.due, hold.due) : hold.due
        continue
      }
      this.#holds.set(position, undefined)
      sums.held -= hold.units
      this.#giveBack(hold.parts)
    }
  }

  #setLeft(name: string, left: number): void {
    this.lots =
      left > 0
        ? this.lots.map((lot) => (lot.name === name ? { name, left } : lot))
        : this.lots.filter((lot) => lot.name !== name)
  }
}
