/* The states of a breaker: whether calls may be made, learned from the outcomes of calls. */
import { systemClock } from '../clock.ts'

/** The evidence of one call: `'answers'` if the other side is there, `'none'`, or the name of its failure. */
export type Proof = 'answers' | 'none' | { readonly failure: string }

/** A circuit that is open. */
interface Opening {
  /** In epoch ms. */
  readonly at: number
  /** The name of the last of the consecutive failures. */
  readonly failure: string
}

/**
 * Opens after consecutive failures, and lets one call through after each pause. Holds plain data and times only:
 * on Workers one request cannot await the promise of another, and a call that is cut off with its request never
 * ends.
 */
export class Circuit {
  readonly failures: number
  readonly pauseMs: number
  #failureCount = 0
  #opening: Opening | undefined
  /** The time of opening, or at which the latest probe was sent or has failed, in epoch ms. */
  #pausedAt = 0
  /** The start of the decision that tries, in epoch ms. */
  #tryStartedAt: number | undefined
  /** Changes when it opens or closes: a call from before then proves nothing now. */
  #turn = 0

  constructor(failures: number, pauseMs: number) {
    this.failures = failures
    this.pauseMs = pauseMs
  }

  /** Undefined while it is closed. */
  get opening(): Opening | undefined {
    return this.#opening
  }

  /**
   * Returns true if a call may be made: while open, once after each pause.
   *
   * @param startedAt The start of the decision that waits, in epoch ms.
   * @param isReading True if it reads records only. A decision may read them in several calls at once, so those of
   * the millisecond in which the try began may be made, too.
   */
  mayCall(startedAt?: number, isReading = false): boolean {
    if (this.#opening === undefined) return true
    if (isReading && startedAt === this.#tryStartedAt) return true
    const now = systemClock()
    // If the clock was set back, the pause begins anew instead of lasting until that time comes again.
    this.#pausedAt = Math.min(this.#pausedAt, now)
    if (now - this.#pausedAt < this.pauseMs) return false
    this.#pausedAt = now
    this.#tryStartedAt = startedAt
    return true
  }

  /** The turn in which a call begins, to tell with its outcome. */
  get turn(): number {
    return this.#turn
  }

  /**
   * Learns from the outcome of a call, unless it has opened or closed since the turn in which the call began.
   *
   * @param isProbe False if the failure must not put the next probe off.
   */
  learn(turn: number, proof: Proof, isProbe = true): void {
    if (turn !== this.#turn) return
    if (proof === 'none') {
      // If it was a try, the next call is one.
      this.#pausedAt = -Infinity
      return
    }
    if (proof === 'answers') {
      this.#failureCount = 0
      if (this.#opening === undefined) return
      this.#opening = undefined
      this.#turn += 1
      return
    }
    const now = systemClock()
    if (this.#opening !== undefined) {
      if (isProbe) this.#pausedAt = now
      return
    }
    this.#failureCount += 1
    if (this.#failureCount < this.failures) return
    this.#pausedAt = now
    this.#turn += 1
    this.#opening = { at: now, failure: proof.failure }
  }
}
