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

/** The bounds of the time after which a flush that failed is made again: not in a tight loop, and before its counts are too old. */
const RETRY_MS = { least: 1_000, most: 60_000 }

/** Flushes in the background, once for all that comes within a time. */
export class BackgroundFlush {
  readonly #options: BackgroundFlushOptions
  #dueAt = -Infinity
  #retry: ReturnType<typeof setTimeout> | undefined

  constructor(options: BackgroundFlushOptions) {
    this.#options = options
  }

  /** Makes sure that a flush is coming. Call it in a request, with its `waitUntil`. */
  schedule(waitUntil: WaitUntil | undefined): void {
    const { everyMs } = this.#options
    if (this.#isComing(everyMs + LATE_MS)) return
    if (everyMs <= RETRY_MS.most) this.forgetRetry()
    this.#dueAt = Date.now() + everyMs
    this.#run(this.#flushLater(), waitUntil)
  }

  /** Flushes again later, if no request has it flushed before. Keeps no process alive. */
  retry(): void {
    const { least, most } = RETRY_MS
    const waitMs = Math.min(Math.max(this.#options.everyMs, least), most)
    if (this.#retry !== undefined || this.#isComing(waitMs)) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.flushSoon(undefined)
    }, waitMs)
    // Browsers and Workers have numbers.
    ;(this.#retry as { unref?: () => void }).unref?.()
  }

  /** Nothing is kept any more. */
  forgetRetry(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }

  /** Flushes now. */
  flushSoon(waitUntil: WaitUntil | undefined): void {
    this.#run(this.#options.flush(), waitUntil)
  }

  /** After a clock that was set back, a flush may seem to be far ahead. */
  #isComing(withinMs: number): boolean {
    return Math.abs(this.#dueAt - Date.now()) < withinMs
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
