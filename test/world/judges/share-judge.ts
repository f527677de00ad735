/*
 * Holds the shares of a limit to docs/plans.md: who is within its part is let in as far as units are free, who
 * uses nothing may begin, and what is lent leaves the headroom free. Written from that page; no code of the product is
 * used. How loans are divided is not judged here.
 */
import type { Row } from './script-calls.ts'

type Accuse = (what: string) => void

/** Units are counted in tenths of a window. */
const TENTHS = 10

interface Use {
  readonly id: string
  readonly member: string
  readonly at: number
  units: number
  /** The units that it was charged at first. */
  readonly asked: number
}

/** A member as it was charged last. */
interface Member {
  at: number
  readonly weight: number
  readonly guarantee: number
}

/** The state of one limit, as far as it is known. */
interface Ledger {
  readonly windowMs: number
  uses: Use[]
  readonly members: Map<string, Member>
  /** Until then, it may count others. */
  unsureUntil: number
}

/** A charge that is corrected. */
interface Correction {
  readonly id: string
  readonly at: number
  readonly units: number
}

export class ShareJudge {
  readonly #accuse: Accuse
  #ledgers = new Map<string, Ledger>()
  /** True once Redis has lost data. */
  #hasLost = false
  /** How often one was let in within its part though nothing was to lend, and how often one was denied. */
  readonly tally = { inPart: 0, denials: 0 }

  constructor(accuse: Accuse) {
    this.#accuse = accuse
  }

  /** Judges the shares' part of a decision. */
  decided(row: Row, now: number): void {
    const { key, rule, cost, limit, fits, retryMs } = row
    const ledger = this.#of(key, rule.windowMs, now)
    if (cost === 0 || now < ledger.unsureUntil) return
    const where = `${rule.name} (cost ${cost} of ${limit})`
    const { total, used, parts, lent } = this.#stateOf(row, ledger, now)
    const isFree = total + cost <= limit
    if (fits) {
      this.granted(row, cost, now)
      if (total + cost > lent[1]) this.tally.inPart += 1
      return
    }
    this.tally.denials += 1
    if (isFree && (used === 0 || used + cost <= parts[0])) {
      this.#accuse(`${where} denies one that uses ${used}, of a part of ${parts[0]}`)
    }
    if (cost > limit) {
      if (retryMs !== -1) this.#accuse(`${where} never fits, but is to be retried`)
    } else if (retryMs < 1 || !this.#mayFit(row, cost, ledger, now + retryMs)) {
      this.#accuse(`${where} does not fit after the ${retryMs} ms that were promised`)
    }
  }

  /** Judges that so many units were granted. */
  granted(row: Row, units: number, now: number): void {
    const ledger = this.#of(row.key, row.rule.windowMs, now)
    if (now < ledger.unsureUntil || this.#mayFit(row, units, ledger, now)) return
    const { total, used, parts, lent } = this.#stateOf(row, ledger, now)
    this.#accuse(
      `${row.rule.name} lets in ${units} of one that uses ${used}, of a part of ${parts[1]}; ${total} of ${lent[1]} are lent`,
    )
  }

  charge({ key, rule, asker }: Row, units: number, now: number, id: string): void {
    const { member = '0', weight = 0, guarantee = 0 } = asker ?? {}
    const ledger = this.#of(key, rule.windowMs, now)
    ledger.uses = ledger.uses.filter(({ at }) => at > now - 3 * rule.windowMs)
    ledger.uses.push({ id, member, at: now, units, asked: units })
    ledger.members.set(member, { at: now, weight, guarantee })
  }

  /** Notes a correction, of which so much was applied. */
  correct(key: string, charge: Correction, actual: number, now: number, applied: number): void {
    const ledger = this.#ledgers.get(key)
    const change = actual - charge.units
    if (change > 0 ? applied !== change : applied < change || applied > 0) {
      this.#accuse(`shares: settling ${charge.units} with ${actual} changed ${applied}`)
    }
    if (!ledger || change === 0) return
    const tenth = ledger.windowMs / TENTHS
    const use = ledger.uses.find(({ id, at }) => id === charge.id && at === charge.at)
    const age = Math.floor(now / tenth) - Math.floor(charge.at / tenth)
    if (!use) {
      // It was reset since. The owner of the units that change now is not known here.
      ledger.unsureUntil = Math.max(ledger.unsureUntil, now + 2 * ledger.windowMs)
      return
    }
    const member = ledger.members.get(use.member)
    // A member that was charged nothing within a window is not known any more: its late units are of nobody's part.
    const isKnown = member && Math.floor(now / tenth) - Math.floor(member.at / tenth) <= TENTHS
    if (change < 0 || age <= TENTHS) use.units = actual
    else ledger.uses.push({ ...use, member: isKnown ? use.member : '', at: now, units: change })
    if (change > 0 && isKnown) member.at = now
  }

  reset(key: string): void {
    this.#ledgers.delete(key)
  }

  /** Forgets everything: Redis has, or may know more. */
  lose(): void {
    this.#ledgers = new Map()
    this.#hasLost = true
  }

  #of(key: string, windowMs: number, now: number): Ledger {
    const known = this.#ledgers.get(key)
    if (known) return known
    const unsureUntil = this.#hasLost ? now + 2 * windowMs : now
    const ledger = { windowMs, uses: [], members: new Map<string, Member>(), unsureUntil }
    this.#ledgers.set(key, ledger)
    return ledger
  }

  /** Returns what is in use, and the bounds of what may be: they differ where the page leaves room. */
  #stateOf({ rule, asker, limit }: Row, { windowMs, uses, members }: Ledger, now: number) {
    const tenth = windowMs / TENTHS
    const ageOf = (at: number): number => Math.floor(now / tenth) - Math.floor(at / tenth)
    /** The oldest tenth counts as far as it is still in the window. */
    const left = 1 - (now % tenth) / tenth
    const unitsOf = (some: readonly Use[]): number => {
      const oldest = sum(some.filter(({ at }) => ageOf(at) === TENTHS))
      return sum(some.filter(({ at }) => ageOf(at) < TENTHS)) + Math.floor(oldest * left)
    }
    const { member = '0', weight = 0, guarantee = 0 } = asker ?? {}
    const own = uses.filter((use) => use.member === member)
    const quarter = Math.floor(limit / 4)
    const least = Math.max(Math.ceil(limit / 50), rule.headroom ?? 0)
    const largest = Math.max(least, ...uses.map(({ asked }) => asked))
    const lent = [limit - Math.min(quarter, largest), limit - Math.min(quarter, least)] as const
    /** The part of the asker, beside all that were charged in the last so many tenths. */
    const partOf = (room: number, tenths: number): number => {
      const others = [...members].filter(([name, { at }]) => name !== member && ageOf(at) <= tenths)
      const claims = [{ weight, guarantee }, ...others.map(([, claim]) => claim)]
      const guaranteed = claims.reduce((all, claim) => all + claim.guarantee, 0)
      const weights = claims.reduce((all, claim) => all + claim.weight, 0)
      if (guaranteed > room) return (guarantee * room) / guaranteed
      return guarantee + ((room - guaranteed) * weight) / weights
    }
    const parts = [Math.floor(partOf(lent[0], TENTHS)), partOf(lent[1], TENTHS - 1)] as const
    return { total: unitsOf(uses), used: unitsOf(own), parts, lent }
  }

  /** Returns true if the page allows that so many units are let in. */
  #mayFit(row: Row, units: number, ledger: Ledger, now: number): boolean {
    const { total, used, parts, lent } = this.#stateOf(row, ledger, now)
    if (total + units > row.limit) return false
    return used === 0 || used + units <= parts[1] || total + units <= lent[1]
  }
}

const sum = (uses: readonly Use[]): number => uses.reduce((all, { units }) => all + units, 0)
