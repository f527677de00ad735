import { Sleeper } from './sleeper.ts'

/** The shortest and longest pause after the store has failed, in milliseconds. */
const PAUSES_MS = [500, 10_000] as const

/** The failures in a row after which a worker ends that has to end. */
const GIVE_UP_AFTER = 3

/** The failures of a worker's store in a row. */
export class Outage {
  #failures = 0
  /** The sleep after a failure, which only a call from outside ends: that jobs end is no reason to ask sooner. */
  readonly sleeper: Sleeper = new Sleeper()

  /** Notes a failure. */
  begin(): void {
    this.#failures += 1
  }

  end(): void {
    this.#failures = 0
  }

  /** True if a worker that has to end does not wait any longer. */
  get isLong(): boolean {
    return this.#failures >= GIVE_UP_AFTER
  }

  /** The pause after the last failure, in milliseconds. */
  get pauseMs(): number {
    const [shortest, longest] = PAUSES_MS
    return Math.min(shortest * 2 ** (this.#failures - 1), longest)
  }
}
