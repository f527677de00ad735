/*
 * Holds balances of credits to docs/credits.md: what was granted, less what is settled and held. Below 0 it is a debt.
 * Written from that page; no code of the product is used.
 */
import type { Charged, Count } from './count.ts'
import type { Rule } from './rules.ts'
import type { Row } from './script-calls.ts'

type Accuse = (what: string) => void

const DAY_MS = 86_400_000

/** The time for which the id of a grant is known. */
const IDS_MS = 90 * DAY_MS

let versions = 0

/** Units of an open reservation, until they are free again. */
interface Hold {
  readonly units: number
  readonly until: number
}

/** A balance, as its page defines it. */
export class Balance implements Count {
  #granted: Map<string, number>
  /** Open reservations. */
  #held: Map<string, Hold>
  #settled: number
  /** Another number after each change. */
  version = (versions += 1)

  constructor(
    granted: ReadonlyMap<string, number> = new Map(),
    held: ReadonlyMap<string, Hold> = new Map(),
    settled = 0,
  ) {
    this.#granted = new Map(granted)
    this.#held = new Map(held)
    this.#settled = settled
  }

  /** The units that are left at a time. Below 0 it is a debt. */
  leftAt(now: number): number {
    return this.granted - this.#settled - this.heldAt(now)
  }

  get granted(): number {
    return sumOf([...this.#granted.values()])
  }

  /** Units of reservations whose time is not over, or that stay charged then. */
  heldAt(now: number): number {
    const open = [...this.#held.values()].filter(({ until }) => until > now)
    return sumOf(open.map(({ units }) => units))
  }

  get settled(): number {
    return this.#settled
  }

  /** The amount of a grant, if it was made. */
  amountOf(id: string): number | undefined {
    return this.#granted.get(id)
  }

  grant(id: string, units: number): void {
    this.#granted.set(id, units)
    this.version = versions += 1
  }

  used(_: Rule, now: number): number {
    return this.#settled + this.heldAt(now)
  }

  turnMs(): number {
    return 0
  }

  /** Units of a check are spent; those of a reservation are held until it is settled. */
  charge(units: number, now: number, id: string, rule?: Rule, holdMs = 0): void {
    const until = rule?.releases ? now + holdMs : Infinity
    if (holdMs > 0) this.#held.set(id, { units, until })
    else this.#settled += units
    this.version = versions += 1
  }

  correct({ id, units }: Charged, actual: number): number {
    this.#held.delete(id)
    this.#settled += actual
    this.version = versions += 1
    return actual - units
  }

  copy(): Balance {
    return new Balance(this.#granted, this.#held, this.#settled)
  }
}

const sumOf = (units: readonly number[]): number => units.reduce((sum, one) => sum + one, 0)

/** A grant, as it passes on the wire. */
export interface GrantCall {
  readonly key: string
  readonly id: string
  readonly units: number
  readonly at: number
  /** As replied. */
  readonly outcome: string
  readonly available: number
  readonly held: number
  readonly debt: number
}

/** How often each thing was looked at. */
export interface BalanceTally {
  /** Balances that an app has read, and nobody has changed meanwhile. */
  looks: number
  /** Decisions about a balance, … */
  balances: number
  /** … those that it has denied, … */
  exhausted: number
  /** … and settlements that left a debt. */
  debts: number
  grants: number
  /** Grants that came again, and counted once. */
  regrants: number
}

export const noBalances = (): BalanceTally => ({
  looks: 0,
  balances: 0,
  exhausted: 0,
  debts: 0,
  grants: 0,
  regrants: 0,
})

/** Judges the part of a balance in a decision. */
export function judgeBalance(
  balance: Balance,
  { rule, cost, fits, available, retryMs }: Row,
  now: number,
  tally: BalanceTally,
  accuse: Accuse,
): void {
  const left = balance.leftAt(now)
  tally.balances += 1
  const where = `${rule.name} (${left} left, cost ${cost})`
  const mayPass = cost === 0 || cost <= left
  if (fits !== mayPass) accuse(`${where} ${fits ? 'was let in' : 'was denied'}`)
  if (available !== Math.max(0, left)) accuse(`${where} was told ${available}`)
  // Nothing but a grant makes it fit.
  if (retryMs !== (fits ? 0 : -1)) accuse(`${where} is to be retried in ${retryMs} ms`)
  if (!fits) tally.exhausted += 1
}

/** Judges a grant, and makes it. */
export function judgeGrant(
  balance: Balance,
  { id, units, at, outcome, ...told }: GrantCall,
  now: number,
  tally: BalanceTally,
  accuse: Accuse,
): void {
  const before = balance.amountOf(id)
  const isOld = at < now - IDS_MS
  const expected =
    before === undefined
      ? isOld
        ? 'grant_too_old'
        : 'applied'
      : before === units
        ? 'repeated'
        : 'grant_differs'
  tally[before === undefined ? 'grants' : 'regrants'] += 1
  if (outcome !== expected) accuse(`grant ${id} of ${units} was ${outcome}, not ${expected}`)
  if (expected === 'applied') balance.grant(id, units)
  const [left, held] = [balance.leftAt(now), balance.heldAt(now)]
  const [available, debt] = [Math.max(0, left), Math.max(0, -left)]
  if (told.available !== available || told.held !== held || told.debt !== debt) {
    accuse(
      `grant ${id} left ${JSON.stringify(told)}, not ${JSON.stringify({ available, held, debt })}`,
    )
  }
}
