/*
 * What each kind of policy promises, written from the docs and naively: a judge keeps every charge and adds up
 * those that count. No code of the product is used.
 */
import { isBucket, type Rule } from './rules.ts'

/** The units of one key, as the definition of its policy counts them. */
export interface Count {
  /** Units in use, rounded up. */
  used(rule: Rule, now: number): number
  /** Milliseconds until it would be a charge's turn. */
  turnMs(now: number): number
  charge(units: number, now: number, id: string): void
  /** Corrects a charge that was made at `at`. Returns the units charged, below 0 if given back. */
  correct(charge: Charged, actual: number, now: number): number
  copy(): Count
}

/** A charge, as its reservation remembers it. */
export interface Charged {
  readonly id: string
  readonly at: number
  /** 0 if it was given back before. */
  readonly units: number
}

/** The end (epoch ms) of the window of the calendar or the grid that holds `now`. */
function endOf({ kind, windowMs }: Pick<Rule, 'kind' | 'windowMs'>, now: number): number {
  if (kind !== 'monthly') return (Math.floor(now / windowMs) + 1) * windowMs
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

/** Returns true if a cost fits, by the definition of the policy. */
export function fits(
  rule: Rule,
  count: Count,
  { cost, limit, burst }: { cost: number; limit: number; burst: number },
  now: number,
): boolean {
  if (cost === 0) return true
  const most = isBucket(rule) ? burst : limit
  return cost <= most && count.used(rule, now) + cost <= most && count.turnMs(now) <= rule.waitMs
}

/** Creates the count of a key on which nothing was charged. */
export function emptyCount(rule: Rule): Count {
  switch (rule.kind) {
    case 'sliding':
    case 'packed':
    case 'log':
      return new Log(rule)
    case 'fixed':
    case 'daily':
    case 'monthly':
      return new Grid(rule)
    case 'counter':
      return new Segments(rule)
    case 'session':
      return new Session(rule)
    case 'slots':
      return new Slots(rule)
    case 'token':
    case 'interval':
    case 'leaky':
    default:
      return new Bucket(rule)
  }
}

interface LogEntry {
  readonly id: string
  readonly at: number
  units: number
}

/** Any stretch as long as a window counts. */
class Log implements Count {
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
class Grid implements Count {
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
class Segments implements Count {
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

/** Units since the last pause of the idle time. Only charges, and what is used beyond them, prolong it. */
class Session implements Count {
  readonly #rule: Rule
  #start: number
  #end: number
  #units: number

  constructor(rule: Rule, start = 0, end = 0, units = 0) {
    this.#rule = rule
    this.#start = start
    this.#end = end
    this.#units = units
  }

  used(_: Rule, now: number): number {
    return now < this.#end ? this.#units : 0
  }

  turnMs(): number {
    return 0
  }

  charge(units: number, now: number): void {
    this.#units = this.used(this.#rule, now) + units
    if (now >= this.#end) this.#start = now
    this.#end = now + this.#rule.windowMs
  }

  /** The session that a charge was made in began at or before it. */
  correct({ at, units }: Charged, actual: number, now: number): number {
    const more = actual - units
    if (more > 0) {
      this.charge(more, now)
      return more
    }
    if (units === 0 || at < this.#start || now >= this.#end) return 0
    const given = Math.min(this.#units, -more)
    this.#units -= given
    return -given + 0
  }

  copy(): Session {
    return new Session(this.#rule, this.#start, this.#end, this.#units)
  }
}

/** Calls in flight, each until it ends or its longest time is over. */
class Slots implements Count {
  readonly #rule: Rule
  #calls: readonly (readonly [id: string, until: number, units: number])[]

  constructor(rule: Rule, calls: Slots['_calls'] = []) {
    this.#rule = rule
    this.#calls = calls
  }

  get _calls(): readonly (readonly [id: string, until: number, units: number])[] {
    return this.#calls
  }

  used(_: Rule, now: number): number {
    return this.#calls
      .filter(([, until]) => until > now)
      .reduce((total, [, , units]) => total + units, 0)
  }

  turnMs(): number {
    return 0
  }

  charge(units: number, now: number, id: string): void {
    this.#calls = [...this.#calls, [id, now + this.#rule.windowMs, units] as const].filter(
      ([, until]) => until > now,
    )
  }

  correct({ id }: Charged, _: number, now: number): number {
    const ended = this.#calls.filter((call) => call[0] === id && call[1] > now)
    this.#calls = this.#calls.filter((call) => call[0] !== id)
    return -ended.reduce((total, [, , units]) => total + units, 0) + 0
  }

  copy(): Slots {
    return new Slots(this.#rule, this.#calls)
  }
}

/** A bucket that leaks `limit` units a window, all the time or at the ends of a grid. In units times milliseconds. */
class Bucket implements Count {
  readonly #rule: Rule
  #level: number
  #at: number
  #exists: boolean

  constructor(rule: Rule, level = 0, at = 0, exists = false) {
    this.#rule = rule
    this.#level = level
    this.#at = at
    this.#exists = exists
  }

  get #limit(): number {
    return this.#rule.limit as number
  }

  /** The moment up to which it has leaked. */
  #tick(now: number): number {
    const { kind, windowMs } = this.#rule
    return kind === 'interval' ? Math.floor(now / windowMs) * windowMs : now
  }

  #levelAt(now: number): number {
    return Math.max(0, this.#level - (this.#tick(now) - this.#at) * this.#limit)
  }

  used(_: Rule, now: number): number {
    return Math.ceil(this.#levelAt(now) / this.#rule.windowMs)
  }

  turnMs(now: number): number {
    return this.#rule.waitMs > 0 ? Math.ceil(this.#levelAt(now) / this.#limit) : 0
  }

  charge(units: number, now: number): void {
    this.#add(units * this.#rule.windowMs, now)
  }

  #add(amount: number, now: number): void {
    this.#level = Math.max(0, this.#levelAt(now) + amount)
    this.#at = this.#tick(now)
    this.#exists = true
  }

  /** A charge is the first to leak: what has leaked since is not given back. */
  correct({ at, units }: Charged, actual: number, now: number): number {
    const { windowMs } = this.#rule
    if (actual > units) {
      this.charge(actual - units, now)
      return actual - units
    }
    if (!this.#exists) return 0
    const leaked = (this.#tick(now) - this.#tick(at)) * this.#limit
    const left = (amount: number): number => Math.max(0, amount * windowMs - leaked)
    const change = left(actual) - left(units)
    this.#add(change, now)
    return Math.trunc(change / windowMs) + 0
  }

  copy(): Bucket {
    return new Bucket(this.#rule, this.#level, this.#at, this.#exists)
  }
}

const sum = (entries: readonly { readonly units: number }[]): number =>
  entries.reduce((total, { units }) => total + units, 0)

const ceil = (amount: bigint, by: bigint): bigint => (amount + by - 1n) / by
