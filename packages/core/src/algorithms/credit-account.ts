/*
 * A balance of credits: what is left of each grant, what open reservations hold, and a journal. Its Lua twin, in
 * `credit-account-lua.ts`, has the same steps under the same names, in the same order.
 *
 * The law: granted + adjusted - revoked - expired - settled - held = lots - debt. Each step below keeps it.
 */
import type { CalendarNumbers } from './calendar-window.ts'
import { nextEnd } from './calendar-window.ts'

/** The sums of an account, in the order in which Redis stores them. */
export const SUMS = [
  'granted',
  'adjusted',
  'revoked',
  'expired',
  'settled',
  /** Units of open reservations. */
  'held',
  /** Units that settlements have used beyond what there was. The next grant pays them first. */
  'debt',
  /** The end of the period of the allowance, in epoch ms. 0 before the first. */
  'finish',
  /** The rest of the allowance. */
  'included',
  /** The allowance of the running period. */
  'allowance',
  /** The number of reservations so far: each one's position. */
  'holds',
  /** No open reservation is due before this time (epoch ms). 0 if there is none. */
  'due',
  /** The hour whose spending is summed, in epoch ms. */
  'hour',
  /** The number of the journal's last entry. */
  'entries',
  /** The sum of all entries. */
  'logged',
] as const

export type Sums = Record<(typeof SUMS)[number], number>

/** The rest of grants of one priority, time and kind. */
export interface Lot {
  /** `priority:effective:expires:kind`, as Redis stores it. Times in epoch ms, 0 for none. */
  readonly name: string
  readonly left: number
}

/** The units of an open reservation. */
export interface Hold {
  readonly id: string
  readonly units: number
  /** The time until which it is to be settled, in epoch ms. */
  readonly due: number
  /** The lots that they are from, in the order of their use. */
  readonly parts: readonly Part[]
}

export type Part = readonly [lot: string, units: number]

/** An account as stores in memory keep it. */
export interface CreditState {
  readonly sums: Sums
  /** In the order of their use. */
  readonly lots: readonly Lot[]
  /** The spending of `hour`, by lot. */
  readonly spent: readonly Part[]
  /** By position. Changed in place. */
  readonly holds: Record<string, Hold>
  /** The newest entries, the oldest first. Changed in place. */
  readonly journal: string[]
}

/** The numbers by which an account is brought up to date. Without a limit, the allowance is left as it is. */
export interface CreditTerms extends Partial<CalendarNumbers> {
  readonly limit?: number
  /** See `CREDIT_PARAMS`. */
  readonly params: readonly number[]
}

/** The params: 1 with an allowance; its period in milliseconds, 0 for a month; the most that goes on; 1 to give back what is due. */
export type CreditParams = readonly [
  hasAllowance: number,
  period: number,
  rollover: number,
  releases: number,
]

/** The lot of the allowance. */
export const INCLUDED = 'included'

/** The most entries of a journal: newer ones replace the oldest. */
export const MAX_ENTRIES = 2_000

export const HOUR_MS = 3_600_000

/** The average length of a month, in milliseconds. */
export const MONTH_MS = 2_629_746_000

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
  spent: Part[]
  /** False if the end of the allowance's period is not known: the caller's clock is days wrong. */
  isKnown = true
  readonly #state: CreditState
  readonly #now: number
  readonly #entries: string[] = []
  readonly #holds = new Map<string, Hold | undefined>()

  constructor(state: CreditState | undefined, now: number, terms: CreditTerms) {
    this.#state = state ?? { ...NOTHING, holds: {}, journal: [] }
    this.#now = now
    this.sums = { ...this.#state.sums }
    this.lots = this.#state.lots
    this.spent = [...this.#state.spent]
    const [hasAllowance, , , releases] = terms.params as CreditParams
    if (releases === 1 && this.sums.due > 0 && this.sums.due <= now) this.#releaseDue()
    this.#expire()
    if (hasAllowance === 1 && terms.limit !== undefined) this.#renew(terms as Required<CreditTerms>)
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
      this.#spend(parts)
      return 0
    }
    sums.holds += 1
    sums.held += units
    const due = this.#now + holdMs
    sums.due = sums.due > 0 ? Math.min(sums.due, due) : due
    this.#holds.set(String(sums.holds), { id, units, due, parts })
    return sums.holds
  }

  /** Replaces the units of a reservation by those used. Of one that was given back, all are taken now. */
  settle(position: number, actual: number): void {
    const { sums } = this
    const hold = this.holds.get(String(position))
    const used = Math.min(actual, hold?.units ?? 0)
    sums.settled += actual
    if (hold) {
      this.#holds.set(String(position), undefined)
      sums.held -= hold.units
      const [spent, rest] = split(hold.parts, used)
      this.#spend(spent)
      this.#giveBack(rest)
    }
    const debtBefore = sums.debt
    const parts = this.take(actual - used)
    this.log('debt', debtBefore - sums.debt, '-')
    this.#spend(parts)
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

  /** Appends an entry to the journal: the number, the time, the kind, the units, the lot, the sum of all so far, and more. */
  log(kind: string, units: number, lot: string, more = '', at: number = this.#now): void {
    if (units === 0) return
    if (kind !== 'spent') this.flush()
    const { sums } = this
    sums.entries += 1
    sums.logged += units
    this.#entries.push(`${sums.entries} ${at} ${kind} ${units} ${lot} ${sums.logged} ${more}`)
  }

  /** Appends the spending that is summed. */
  flush(): void {
    const { spent, sums } = this
    this.spent = []
    for (const [lot, units] of spent) this.log('spent', -units, lot, '', sums.hour)
  }

  /** Returns the account as it is to be stored. */
  save(): CreditState {
    const { sums, lots, spent } = this
    const { holds, journal } = this.#state
    for (const [position, hold] of this.#holds) {
      if (hold) holds[position] = hold
      else delete holds[position]
    }
    journal.push(...this.#entries)
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

  #spend(parts: readonly Part[]): void {
    const { sums } = this
    const hour = this.#now - (this.#now % HOUR_MS)
    if (sums.hour !== hour) this.flush()
    sums.hour = hour
    for (const [lot, units] of parts) {
      if (units === 0) continue
      const at = this.spent.findIndex(([name]) => name === lot)
      if (at < 0) this.spent.push([lot, units])
      else this.spent[at] = [lot, (this.spent[at] as Part)[1] + units]
    }
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
        this.log('expired', -rest, lot)
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
      this.log('expired', -left, name)
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

  /** Begins the period of the allowance that `now` is in, or adds what a new plan includes. */
  #renew(terms: Required<CreditTerms>): void {
    const { sums } = this
    const { limit, params } = terms
    const [, period, rollover] = params as CreditParams
    const isRunning = this.#now < sums.finish
    const periods = { ...terms, params: [period] }
    const end = isRunning ? sums.finish : nextEnd(sums.finish || undefined, periods, this.#now)
    this.isKnown = end !== undefined
    if (end === undefined) return
    if (isRunning) {
      const more = Math.max(0, limit - sums.allowance)
      sums.included += more
      sums.granted += more
      sums.allowance += more
      this.log('included', more, `${INCLUDED}:${end}`)
      return
    }
    const left = sums.included
    const average = period === 0 ? MONTH_MS : period
    const skipped = sums.finish > 0 ? Math.round((end - sums.finish) / average) - 1 : 0
    const kept = Math.min(rollover, left + Math.max(0, skipped) * sums.allowance)
    const expired = Math.max(0, left - kept)
    sums.expired += expired
    this.log('expired', -expired, `${INCLUDED}:${sums.finish}`)
    const granted = limit + kept - left + expired
    sums.granted += granted
    sums.finish = end
    sums.allowance = limit
    sums.included = limit + kept
    this.log('included', granted, `${INCLUDED}:${end}`)
  }

  #setLeft(name: string, left: number): void {
    this.lots =
      left > 0
        ? this.lots.map((lot) => (lot.name === name ? { name, left } : lot))
        : this.lots.filter((lot) => lot.name !== name)
  }
}

/** The facts in the name of a lot. */
interface LotFacts {
  readonly priority: number
  readonly effective: number
  readonly expires: number
  readonly kind: string
}

/** Returns the facts in the name of a lot. */
export function lotFacts(name: string): LotFacts {
  const [priority, effective, expires, kind = ''] = name.split(':')
  return {
    priority: Number(priority),
    effective: Number(effective),
    expires: Number(expires),
    kind,
  }
}

/** Returns the name of a lot. */
export const lotName = ({ priority, effective, expires, kind }: LotFacts): string =>
  `${priority}:${effective}:${expires}:${kind}`

const hasExpired = (name: string, at: number): boolean => {
  const { expires } = lotFacts(name)
  return expires > 0 && expires <= at
}

const isUsable = (name: string, at: number): boolean =>
  lotFacts(name).effective <= at && !hasExpired(name, at)

/** The order of use: by priority, then what expires soonest, then promotional before paid, then the oldest. */
function inOrder(one: Lot, other: Lot): number {
  const [a, b] = [lotFacts(one.name), lotFacts(other.name)]
  const difference =
    a.priority - b.priority || (a.expires || Infinity) - (b.expires || Infinity) || 0
  // Infinity less itself is NaN.
  if (difference) return difference
  if (a.kind !== b.kind) return a.kind === 'promotional' ? -1 : 1
  return a.effective - b.effective
}

export const byPosition = (holds: ReadonlyMap<string, Hold>): [string, Hold][] =>
  [...holds].toSorted(([a], [b]) => Number(a) - Number(b))

/** Returns the parts of the first `units`, and those of the rest. */
function split(parts: readonly Part[], units: number): [Part[], Part[]] {
  let left = units
  const first: Part[] = []
  const rest: Part[] = []
  for (const [lot, part] of parts) {
    const taken = Math.min(left, part)
    left -= taken
    first.push([lot, taken])
    rest.push([lot, part - taken])
  }
  return [first, rest]
}
