/* Counts of what lasts: sessions, and calls in flight. */
import type { Charged, Count } from './count.ts'
import type { Rule } from './rules.ts'

/**
 * Units since the last pause of the idle time, or the end of its length. Only charges, and what is used beyond them, begin it
 * and prolong it; nothing prolongs its length.
 */
export class Session implements Count {
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
    const { windowMs, lengthMs = Infinity } = this.#rule
    this.#end = Math.min(now + windowMs, this.#start + lengthMs)
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
export class Slots implements Count {
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
