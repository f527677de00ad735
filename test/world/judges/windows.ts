/* Windows: any stretch as long as one, those on a grid, and those in parts. */
import type { Charged, Count } from './count.ts'
import type { Rule } from './rules.ts'

/** The end (epoch ms) of the window of the calendar or the grid that holds `now`. */
function endOf({ kind, windowMs }: Pick<Rule, 'kind' | 'windowMs'>, now: number): number {
  if (kind !== 'monthly') return (Math.floor(now / windowMs) + 1) * windowMs
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

interface LogEntry {
  readonly id: string
  readonly at: number
  units: number
}

/** Any stretch as long as a window counts. */
export class Log implements Count {
  readonly #rule: Rule
  #entries: LogEntry[]

  constructor(rule: Rule, entries: readonly LogEntry[] = []) {
    this.#rule = rule
    this.#entries = entries.map((entry) => ({ ...entry }))
  }

  used({ windowMs }: Rule, now: number): number {
    return sum(this.#entries.filter(({ at }) => at > now - windowMs))
  }

  turnMs(): number {
    return 0
  }

  charge(units: number, now: number, id: string): void {
    this.#entries = this.#entries.filter(({ at }) => at > now - this.#rule.longestMs)
    this.#entries.push({ id, at: now, units })
  }

  correct({ id, at, units }: Charged, actual: number, now: number): number {
    const more = actual - units
    const entry = this.#entries.find((one) => one.id === id && one.at === at && one.units === units)
    if (entry && at > now - this.#rule.longestMs) {
      entry.units = actual
      return more
    }
    if (more <= 0) return 0
    this.charge(more, now, id)
    return more
  }

  copy(): Log {
    return new Log(this.#rule, this.#entries)
  }
}

/** Windows that lie on a grid, or the days and months of the calendar. */
export class Grid implements Count {
  readonly #rule: Rule
  #end: number
  #units: number

  constructor(rule: Rule, end = 0, units = 0) {
    this.#rule = rule
    this.#end = end
    this.#units = units
  }

  used(_: Rule, now: number): number {
    return endOf(this.#rule, now) === this.#end ? this.#units : 0
  }

  turnMs(): number {
    return 0
  }

  charge(units: number, now: number): void {
    this.#units = this.used(this.#rule, now) + units
    this.#end = endOf(this.#rule, now)
  }

  correct({ at, units }: Charged, actual: number, now: number): number {
    const more = actual - units
    if (more > 0) {
      this.charge(more, now)
      return more
    }
    const isOver = endOf(this.#rule, at) !== endOf(this.#rule, now)
    if (isOver || units === 0) return 0
    const given = Math.min(this.used(this.#rule, now), -more)
    this.#units -= given
    return -given + 0
  }

  copy(): Grid {
    return new Grid(this.#rule, this.#end, this.#units)
  }
}

/** The parts of a window, of which the oldest counts in the share that is still in it, rounded up. */
export class Segments implements Count {
  readonly #rule: Rule
  readonly #units: Map<number, number>

  constructor(rule: Rule, units: Iterable<readonly [number, number]> = []) {
    this.#rule = rule
    this.#units = new Map(units)
  }

  get #lengthMs(): number {
    return this.#rule.windowMs / this.#rule.segments
  }

  #numberOf(at: number): number {
    return Math.floor(at / this.#lengthMs)
  }

  used(_: Rule, now: number): number {
    const current = this.#numberOf(now)
    let units = 0
    for (let back = 0; back < this.#rule.segments; back += 1) {
      units += this.#units.get(current - back) ?? 0
    }
    const oldest = this.#units.get(current - this.#rule.segments) ?? 0
    const leftMs = this.#lengthMs - (now - current * this.#lengthMs)
    return units + Number(ceil(BigInt(oldest) * BigInt(leftMs), BigInt(this.#lengthMs)))
  }

  turnMs(): number {
    return 0
  }

  #add(segment: number, units: number): void {
    this.#units.set(segment, (this.#units.get(segment) ?? 0) + units)
  }

  charge(units: number, now: number): void {
    const current = this.#numberOf(now)
    for (const segment of this.#units.keys()) {
      if (segment < current - this.#rule.segments) this.#units.delete(segment)
    }
    this.#add(current, units)
  }

  correct({ at, units }: Charged, actual: number, now: number): number {
    const [more, segment, current] = [actual - units, this.#numberOf(at), this.#numberOf(now)]
    const isCounted = units > 0 && segment >= current - this.#rule.segments
    if (more > 0) {
      this.#add(isCounted ? segment : current, more)
      return more
    }
    if (!isCounted) return 0
    const given = Math.min(this.#units.get(segment) ?? 0, -more)
    this.#add(segment, -given)
    return -given + 0
  }

  copy(): Segments {
    return new Segments(this.#rule, this.#units)
  }
}

const sum = (entries: readonly { readonly units: number }[]): number =>
  entries.reduce((total, { units }) => total + units, 0)

const ceil = (amount: bigint, by: bigint): bigint => (amount + by - 1n) / by
