/* The state of a breaker: whether the store may be called, learned from the outcomes of calls. */
import { systemClock } from '../clock.ts'
import { SluiceError, StoreError, type StoreErrorCode } from '../errors.ts'

/** The proof that an error gives: the store answers, or it was not asked. All others say that it fails. */
const PROOFS: Readonly<Partial<Record<StoreErrorCode, 'answers' | 'none'>>> = {
  store_refused: 'answers',
  store_conflict: 'answers',
  store_moved: 'answers',
  store_paused: 'none',
}

/**
 * Opens after consecutive failures, and lets one call through after each pause. Holds plain data and times only:
 * on Workers one request cannot await the promise of another, and a call that is cut off with its request never
 * ends.
 */
export class Circuit {
  readonly #failures: number
  readonly #pauseMs: number
  #failureCount = 0
  /** The text of the error of paused calls. Set while it is open. */
  #openText: string | undefined
  /** The time of opening, or at which the latest probe was sent or has failed, in epoch ms. */
  #pausedAt = 0
  /** The start of the decision that tries, in epoch ms. */
  #tryStartedAt: number | undefined
  /** Changes when it opens or closes: a call from before then proves nothing now. */
  #turn = 0

  constructor(failures: number, pauseMs: number) {
    this.#failures = failures
    this.#pauseMs = pauseMs
  }

  /**
   * Returns true if the store may be called: while open, once after each pause.
   *
   * @param startedAt The start of the decision that waits, in epoch ms.
   * @param isReading True if it reads records only. A decision may read them in several calls at once, so those of
   * the millisecond in which the try began may be made, too.
   */
  mayCall(startedAt?: number, isReading = false): boolean {
    if (this.#openText === undefined) return true
    if (isReading && startedAt === this.#tryStartedAt) return true
    const now = systemClock()
    // If the clock was set back, the pause begins anew instead of lasting until that time comes again.
    this.#pausedAt = Math.min(this.#pausedAt, now)
    if (now - this.#pausedAt < this.#pauseMs) return false
    this.#pausedAt = now
    this.#tryStartedAt = startedAt
    return true
  }

  /** Creates the error of a call that may not be made. */
  pausedError(): StoreError {
    return new StoreError('store_paused', this.#openText ?? '')
  }

  /**
   * Calls the store, and learns from the outcome unless it has opened or closed meanwhile.
   *
   * @param isProbe False if the failure must not put the next probe off.
   */
  async call<T>(ask: () => Promise<T>, isProbe = true): Promise<T> {
    const turn = this.#turn
    try {
      const result = await ask()
      if (turn === this.#turn) this.#noteAnswer()
      return result
    } catch (error) {
      if (turn === this.#turn) this.#noteError(error, isProbe)
      throw error
    }
  }

  #noteAnswer(): void {
    this.#failureCount = 0
    if (this.#openText === undefined) return
    this.#openText = undefined
    this.#turn += 1
  }

  #noteError(error: unknown, isProbe: boolean): void {
    const isOwn = error instanceof StoreError
    // Misuse says nothing about the store.
    if (error instanceof SluiceError && !isOwn) return
    const code = isOwn ? error.code : 'store_failed'
    // A refusal with a status is not from Redis but from a service or a proxy in front of it.
    const proof = isOwn && error.status !== undefined ? undefined : PROOFS[code]
    if (proof === 'answers') this.#noteAnswer()
    if (proof) return
    if (this.#openText !== undefined) {
      if (isProbe) this.#pausedAt = systemClock()
      return
    }
    this.#failureCount += 1
    if (this.#failureCount >= this.#failures) this.#open(code)
  }

  #open(code: StoreErrorCode): void {
    const now = systemClock()
    this.#pausedAt = now
    this.#turn += 1
    const reason = `consecutive failures: ${this.#failures}, the last ${code}`
    this.#openText = `The store is not called: the breaker opened at ${new Date(now).toISOString()} (${reason}). One call every ${this.#pauseMs} ms tries the store`
  }
}
