import type { Clock } from '../clock.ts'
import { isFresh } from './freshness.ts'

/**
 * The copy that an isolate has of a stored value, in one of three states:
 *
 * | State   | Begins with                       | Decisions                            | Ends with            |
 * | ------- | --------------------------------- | ------------------------------------ | -------------------- |
 * | unknown | nothing read, or the copy expired | wait for a read; if it fails, rely   | a read               |
 * |         |                                   | on the last known value              |                      |
 * | fresh   | a read                            | rely on it                           | time, or a clock set |
 * |         |                                   |                                      | back                 |
 * | stale   | the end of fresh                  | rely on it, and read along with them | a read, or expiry    |
 *
 * It expires when the store has another version. When the isolate itself changes the value, a new copy takes its place:
 * reads that began before update the old one.
 */
export class StoredCopy<Value> {
  /** The value, unless the copy is unknown. */
  current: Value | undefined
  /** The last known value. */
  latest: Value | undefined
  readonly #clock: Clock
  #readAt = 0

  constructor(clock: Clock, latest?: Value) {
    this.#clock = clock
    this.latest = latest
  }

  isFresh(): boolean {
    return this.current !== undefined && isFresh(this.#readAt, this.#clock())
  }

  /** Takes the value that the store had at `readAt`, unless a later one is known. Returns true if it did. */
  update(value: Value, readAt: number): boolean {
    if (readAt < this.#readAt && this.#readAt <= this.#clock()) return false
    this.current = this.latest = value
    this.#readAt = readAt
    return true
  }

  expire(): void {
    this.current = undefined
  }
}
