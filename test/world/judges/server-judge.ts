/* Holds each answer of a Redis to the definitions of the policies. */
import { Balance, judgeGrant, noBalances, type GrantCall } from './balances.ts'
import { emptyCount, fits, type Charged, type Count } from './definitions.ts'
import { lacksEnd } from './periods.ts'
import { LineJudge } from './line-judge.ts'
import { RolloutJudge } from './rollout-judge.ts'
import { RowJudge, type RowTally } from './row-judge.ts'
import { isBeside, type Rule } from './rules.ts'
import { copyOf, type Held, type Ledger } from './server-ledger.ts'
import { ShareJudge } from './share-judge.ts'
import type { Decided, Row, SettledCall } from './script-calls.ts'

/** How often each thing was looked at: a judge that has seen nothing has proved nothing. */
export interface ServerTally extends RowTally {
  decisions: number
  denials: number
  charges: number
  corrections: number
  releases: number
  fits: number
  rollouts: number
}

export class ServerJudge {
  readonly tally: ServerTally = {
    decisions: 0,
    denials: 0,
    retries: 0,
    charges: 0,
    corrections: 0,
    releases: 0,
    fits: 0,
    rollouts: 0,
    endless: 0,
    ...noBalances(),
  }
  readonly lines: LineJudge
  readonly shares: ShareJudge
  readonly #accuse: (what: string) => void
  readonly #rows: RowJudge
  readonly #rollouts: RolloutJudge
  #counts = new Map<string, { rule: Rule; count: Count }>()
  /** The policy of each key that was ever counted. */
  readonly #rules = new Map<string, Rule>()
  #held = new Map<string, Held>()
  /** All that was ever held, also what Redis has lost. */
  readonly #blocks = new Map<string, Held>()
  /** Keys that may count units twice: an app without their policy has released a call that was settled after that. */
  readonly #doubtful = new Set<string>()
  /** Units of leased policies that were charged for single decisions, by policy. */
  readonly #single = new Map<string, number>()

  constructor(accuse: (what: string) => void) {
    this.#accuse = accuse
    this.#rows = new RowJudge(this.tally, accuse)
    this.#rollouts = new RolloutJudge(accuse)
    this.lines = new LineJudge(accuse)
    this.shares = new ShareJudge(accuse)
  }

  /** Notes a limit that the app may set. */
  allowLimit(policy: string, limit: number): void {
    this.#rows.allowLimit(policy, limit)
  }

  /** Judges a decision. `charges` are the units noted in its mark, by position. */
  decided(decided: Decided, charges: ReadonlyMap<number, number> | undefined, at: number): void {
    const { rows, rules, now, apply, id, isOverrun, isOutdated } = decided
    this.tally.decisions += 1
    if (now !== at) this.#accuse(`decided at ${now}, not at the time of Redis`)
    let isDenied = false
    for (const row of rows) {
      if (!isOverrun && !isBeside(row.rule)) this.#judgeRow(row, now)
      if (this.#rollouts.judge(row)) this.tally.rollouts += 1
      if (row.enforced && !row.fits) isDenied = true
    }
    for (const row of rows) {
      if (row.rule.kind === 'line') this.lines.decided(row, now, row.charged)
      if (row.rule.kind === 'share') {
        this.#rows.judgeLimit(row)
        this.shares.decided(row, now)
      }
    }
    if (isDenied || !apply || isOutdated) {
      if (isDenied) this.tally.denials += 1
      const charged = rows.filter((row) => row.charged).map(({ rule }) => rule.name)
      if (charged.length > 0) this.#accuse(`a denied request has charged ${charged.join()}`)
      if (charges !== undefined && charges.size > 0) this.#accuse('a denied request has a mark')
      return
    }
    // Before any of it is charged.
    for (const row of rows) {
      const units = charges?.get(row.index) ?? 0
      if (row.charged && units > row.cost && row.rule.kind !== 'line')
        this.#judgeMore(row, units, now)
    }
    const held: Held = { at: now, charges: new Map(), rules, state: 'open' }
    const done = new Set<string>()
    for (const row of rows) {
      const { index, rule, key, cost, enforced } = row
      const mustCharge = cost > 0 && this.#isCharged(row, rows)
      if (row.charged !== mustCharge) {
        this.#accuse(
          `${rule.name} was ${row.charged ? '' : 'not '}charged although it ${row.fits ? 'fits' : 'does not fit'}`,
        )
      }
      if (!row.charged) continue
      const units = charges?.get(index) ?? cost
      if (charges !== undefined && !charges.has(index))
        this.#accuse(`${rule.name} is not in the mark`)
      const count = this.#countOf(key, rule)
      if (!done.has(key)) {
        done.add(key)
        this.tally.charges += 1
        const isHeld = row.holdMs !== undefined && row.holdMs > 0
        // A check beside leases has a mark for their block, and is spent at once.
        const mayBeSpent = charges === undefined || rules.some(({ leaseMs }) => leaseMs > 0)
        if (rule.kind === 'credits' && (isHeld ? charges === undefined : !mayBeSpent)) {
          this.#accuse(`${rule.name} is held for ${row.holdMs} ms`)
        }
        count.charge(units, now, id, rule, row.holdMs)
        if (rule.kind === 'share') this.shares.charge(row, units, now, id)
      }
      const { until } = count
      held.charges.set(index, { id, at: now, units, until, key, rule, enforced })
    }
    if (charges === undefined) {
      for (const { units, rule } of held.charges.values()) {
        if (rule.leaseMs > 0)
          this.#single.set(rule.name, (this.#single.get(rule.name) ?? 0) + units)
      }
      return
    }
    // The part that leases have served: a settlement charges no more than an overrun.
    for (const [index, units] of charges) {
      const rule = rules[index]
      if (rule === undefined || held.charges.has(index)) continue
      held.charges.set(index, { id, at: 0, units, key: '', rule, enforced: true })
    }
    this.#held.set(id, held)
    this.#blocks.set(id, held)
  }

  #judgeRow(row: Row, now: number): void {
    const { key, rule } = row
    this.#rows.judgeLimit(row)
    if (!this.#doubtful.has(key)) this.#rows.judge(row, this.#countOf(key, rule), now)
  }

  /** More than was asked for is only granted where there is room. */
  #judgeMore(row: Row, units: number, now: number): void {
    const { rule, key, limit, burst, enforced } = row
    this.tally.fits += 1
    if (!enforced) return
    if (rule.kind === 'share') return this.shares.granted(row, units, now)
    if (!fits(rule, this.#countOf(key, rule), { cost: units, limit, burst }, now)) {
      this.#accuse(`${rule.name} granted ${units} units that do not fit`)
    }
  }

  /** A shadow is charged what fits. In a log that only shadows share, all of them must fit. */
  #isCharged(row: Row, rows: readonly Row[]): boolean {
    if (row.rule.log === undefined) return row.fits
    const together = rows.filter(({ key }) => key === row.key)
    return together.some(({ enforced }) => enforced) || together.every((one) => one.fits)
  }

  settled({ id, isRelease, corrections, wasReleased, isOwnClock }: SettledCall, at: number): void {
    if (corrections === undefined) return
    const held = this.#held.get(id)
    if (held === undefined) {
      this.#accuse(`settled ${id}, which holds nothing`)
      return
    }
    if (held.state === 'settled') this.#accuse(`settled ${id} twice`)
    if (held.state === 'released' && isRelease) this.#accuse(`released ${id} twice`)
    if (wasReleased !== (held.state === 'released')) this.#accuse(`${id} was ${held.state}`)
    held.state = isRelease ? 'released' : 'settled'
    if (isRelease) this.tally.releases += 1
    for (const { key, markIndex, actual, applied, ends = [] } of corrections) {
      const nothing = { id, at: 0, units: 0 }
      // Units that were given back are charged anew, now.
      const known = held.charges.get(markIndex) ?? nothing
      const charge = wasReleased ? nothing : known
      if (wasReleased && known.units > 0) this.#doubtful.add(key)
      const rule = this.#ruleOf(held, markIndex, key)
      if (rule === undefined || this.#doubtful.has(key)) continue
      this.tally.corrections += 1
      if (rule.kind === 'share') this.shares.correct(key, charge, actual, at, applied)
      else this.#correct(rule, key, charge, { actual, applied, isOwnClock, ends }, at)
      const after = rule.kind === 'slots' || isRelease ? 0 : actual
      // Policies that share a key share its charge.
      const sharing = [...held.charges].filter(([, one]) => one.key === key)
      for (const [index, one] of sharing) held.charges.set(index, { ...one, units: after })
      // A release names what is not charged, too.
      if (!held.charges.has(markIndex) && after > 0) {
        held.charges.set(markIndex, {
          ...charge,
          units: after,
          key,
          rule,
          enforced: rule.enforced,
        })
      }
    }
  }

  #correct(
    rule: Rule,
    key: string,
    charge: Charged,
    {
      actual,
      applied,
      isOwnClock,
      ends,
    }: { actual: number; applied: number; isOwnClock: boolean; ends: readonly number[] },
    at: number,
  ): void {
    const corrected = this.#countOf(key, rule).copy()
    const isBalance = corrected instanceof Balance
    // Held units are spent then, also if it is as much.
    const isSame = actual === charge.units && !isBalance
    // More than was charged is charged to the period that runs: if its end is known.
    const isEndless =
      actual > charge.units && lacksEnd(corrected, { rule, key, ends }, at, this.#accuse)
    const expected = isSame || isEndless ? 0 : corrected.correct(charge, actual, at, rule)
    // By a caller's clock, it may take units for gone that are not, and the other way round.
    const isUnsure =
      !isOwnClock && applied <= 0 && (applied === 0 || applied === actual - charge.units)
    if (expected !== applied && !isUnsure) {
      this.#accuse(
        `${rule.name} (${rule.kind}): settling ${charge.units} of ${at - charge.at} ms ago with ${actual} changed ${applied}, not ${expected}`,
      )
    }
    if (isBalance && corrected.leftAt(at) < 0) this.tally.debts += 1
    this.#counts.set(key, { rule, count: corrected })
  }

  /** Returns the policy that a charge was made by, which of apps with different calendars is its own. */
  #ruleOf({ rules }: Held, index: number, key: string): Rule | undefined {
    const known = this.#rules.get(key)
    const own = rules[index]
    return own?.kind === 'daily' && own.name === known?.name ? own : known
  }

  /** Keys that were removed. */
  reset(keys: readonly string[]): void {
    for (const key of keys) {
      if (this.balanceAt(key)) this.#accuse(`${key} was reset, and is a balance`)
      this.#counts.delete(key)
      this.lines.reset(key)
      this.shares.reset(key)
    }
  }

  /** Judges a grant of credits. `rule` is their policy. */
  granted(grant: GrantCall, rule: Rule, now: number): void {
    const balance = this.#countOf(grant.key, rule) as Balance
    judgeGrant(balance, grant, now, this.tally, this.#accuse)
  }

  /** Returns the balance that a grant counts in. */
  balanceWith(id: string): Balance | undefined {
    const counts = [...this.#counts.values()].map(({ count }) => count)
    return counts.find((count) => count instanceof Balance && count.amountOf(id) !== undefined) as
      Balance | undefined
  }

  /** Returns the balance of a key, if that is one. */
  balanceAt(key: string): Balance | undefined {
    const count = this.#counts.get(key)?.count
    return count instanceof Balance ? count : undefined
  }

  /** Returns true if units are counted on this key. */
  knows(key: string): boolean {
    return this.#counts.has(key)
  }

  heldOf(id: string): Held | undefined {
    return this.#held.get(id)
  }

  get held(): ReadonlyMap<string, Held> {
    return this.#held
  }

  /** Units that were charged for leases, by policy: for blocks, less what came back, and for single decisions. */
  leasedUnits(reservations: ReadonlySet<string>): Map<string, number> {
    const units = new Map(this.#single)
    for (const [id, { charges }] of this.#blocks) {
      if (reservations.has(id)) continue
      for (const charge of charges.values()) {
        // Without a key, it is a note of what a lease has served.
        if (charge.rule.leaseMs === 0 || charge.key === '') continue
        units.set(charge.rule.name, (units.get(charge.rule.name) ?? 0) + charge.units)
      }
    }
    return units
  }

  snapshot(): Ledger {
    return copyOf({ counts: this.#counts, held: this.#held })
  }

  restore(ledger: Ledger): void {
    this.lines.lose()
    this.shares.lose()
    const { counts, held } = copyOf(ledger)
    this.#counts = counts
    this.#held = held
  }

  #countOf(key: string, rule: Rule): Count {
    const known = this.#counts.get(key)
    if (known) return known.count
    const count = emptyCount(rule, key)
    this.#rules.set(key, rule)
    this.#counts.set(key, { rule, count })
    return count
  }
}
