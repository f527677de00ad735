import type { Problem, WaitUntil } from '@sluice/core'

/** Options of `BackgroundFlush`. */
export interface BackgroundFlushOptions {
  /** The time between the call of `schedule` and the flush, in milliseconds. */
  readonly everyMs: number
  readonly flush: () => Promise<void>
  /** The sentence to report when a flush fails. */
  readonly failure: string
  readonly problem: (problem: Problem) => void
}

/** The time after which a flush is taken for dead: its request was over before the platform ran it. */
const LATE_MS = 10_000

/** Flushes in the background, once for all that comes within a time. */
export class BackgroundFlush {
  readonly #options: BackgroundFlushOptions
  #dueAt = -Infinity

  constructor(options: BackgroundFlushOptions) {
    this.#options = options
  }

  /** Makes sure that a flush is coming. Call it in a request, with its `waitUntil`. */
  schedule(waitUntil: WaitUntil | undefined): void {
    const { everyMs } = this.#options
    const now = Date.now()
    // After a clock that was set back, a flush may seem to be far ahead.
    if (Math.abs(this.#dueAt - now) < everyMs + LATE_MS) return
    this.#dueAt = now + everyMs
    this.#run(this.#flushLater(), waitUntil)
  }

  /** Flushes now. */
  flushSoon(waitUntil: WaitUntil | undefined): void {
    this.#run(this.#options.flush(), waitUntil)
  }

  async #flushLater(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#options.everyMs))
    this.#dueAt = -Infinity
    await this.#options.flush()
  }

  #run(work: Promise<void>, waitUntil: WaitUntil | undefined): void {
    const { failure, problem } = this.#options
    const safe = work.catch((error: unknown) => {
      problem({ code: 'usage_incomplete', message: failure, error })
    })
    try {
      waitUntil?.(safe)
    } catch (error) {
      const message = 'waitUntil failed, and a flush may be cut off'
      problem({ code: 'usage_incomplete', message, error })
    }
  }
}
