import type { Charged, Count } from './count.ts'
import type { Rule } from './rules.ts'

/** A bucket that leaks `limit` units a window, all the time or at the ends of a grid. In units times milliseconds. */
export class Bucket implements Count {
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
