import type { Problem, Records, WaitUntil } from '@sluice/core'
import type { CounterGroup } from './counter.ts'
import { addCounters, RESEND_MS } from './add-counters.ts'

/** Options of `CounterFlush`. */
export interface CounterFlushOptions {
  /** The name of what is counted, as problems begin with it. */
  readonly title: string
  /** The records of the limiter. */
  readonly records: Records
  /** The limiter's clock. */
  readonly clock: () => number
  /** Reports a failure, or counters above `maxCounters`. */
  readonly problem: (problem: Problem) => void
  /** The start of the keys that mark batches. */
  readonly key: string
  /** The most counters in a hash. */
  readonly maxCounters: number
  /** The time between the first count and the flush that saves it, in milliseconds. */
  readonly everyMs: number
  /** Forgets what was counted, and returns the way to get it as counters to save, if there is any. */
  readonly take: () => TakenCounters | undefined
}

/** Returns counters that were taken: the same at each call. */
export type TakenCounters = () => readonly CounterGroup[] | Promise<readonly CounterGroup[]>

/** Counters that were taken, and of which the store has not said that it has them. */
interface UnsavedBatch {
  readonly mark: string
  readonly counters: TakenCounters
  /** The time of the first attempt, in epoch ms. */
  sentAt?: number
}

/** The time after which a flush is taken for dead: its request was over before the platform ran it. */
const LATE_MS = 10_000

/**
 * Saves counters in the background: `everyMs` after the first of them was counted, in one call to the store.
 * A batch whose reply was lost is sent again, and counts once. While the store fails, later counts gather in
 * memory. An isolate that ends loses what it has counted since its last flush.
 */
export class CounterFlush {
  readonly #options: CounterFlushOptions
  #dueAt = -Infinity
  #unsaved: UnsavedBatch | undefined

  constructor(options: CounterFlushOptions) {
    this.#options = options
  }

  /** Makes sure that a flush is coming. Call it in a request, with its `waitUntil`. */
  schedule(waitUntil: WaitUntil | undefined): void {
    const { everyMs } = this.#options
    const now = Date.now()
    // After a clock that was set back, a flush may seem to be far ahead.
    if (Math.abs(this.#dueAt - now) < everyMs + LATE_MS) return
    this.#dueAt = now + everyMs
    this.#runInBackground(this.#flushLater(), waitUntil)
  }

  /** Flushes now, in the background, unless a batch is under way or has failed. */
  flushSoon(waitUntil: WaitUntil | undefined): void {
    if (!this.#unsaved) this.#runInBackground(this.flush(), waitUntil)
  }

  /** Saves all that was counted before the call. @throws StoreError When the store fails: it is kept. */
  async flush(): Promise<void> {
    // A flush waits for no other: the request of the other may have been cut off.
    while (this.#unsaved) await this.#send(this.#unsaved)
    const counters = this.#options.take()
    if (!counters) return
    this.#unsaved = { mark: `${this.#options.key}:batch:${crypto.randomUUID()}`, counters }
    await this.#send(this.#unsaved)
  }

  /** Sends a batch: without its counters if they might count twice, to learn that the store answers again. */
  async #send(batch: UnsavedBatch): Promise<void> {
    const { records, clock, maxCounters } = this.#options
    const { mark, counters, sentAt = Infinity } = batch
    const isTooOld = Date.now() - sentAt >= RESEND_MS
    const groups = isTooOld ? [] : await counters()
    const startedAt = Date.now()
    batch.sentAt ??= startedAt
    const added = await records.run(addCounters({ mark, maxCounters, groups }, clock(), startedAt))
    if (this.#unsaved === batch) this.#unsaved = undefined
    if (added === 'overflowed') this.#reportOverflow()
    if (added === 'added' && isTooOld) this.#reportLoss()
  }

  async #flushLater(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#options.everyMs))
    this.#dueAt = -Infinity
    await this.flush()
  }

  #runInBackground(work: Promise<void>, waitUntil: WaitUntil | undefined): void {
    const safe = work.catch((error: unknown) => this.#reportFailure(error))
    try {
      waitUntil?.(safe)
    } catch (error) {
      const message = 'waitUntil failed, and a flush may be cut off'
      this.#options.problem({ code: 'usage_incomplete', message, error })
    }
  }

  #reportFailure(error: unknown): void {
    const { title, problem } = this.#options
    const message = `${title} could not be saved; it is kept, and sent again with a later flush`
    problem({ code: 'usage_incomplete', message, error })
  }

  #reportLoss(): void {
    const { title, problem } = this.#options
    const message = `${title} of one flush may be lost: the store failed for too long to send it again`
    problem({ code: 'usage_incomplete', message })
  }

  #reportOverflow(): void {
    const { title, maxCounters, problem } = this.#options
    const message = `${title} has more than ${maxCounters} counters at a time: the rest shares one`
    problem({ code: 'usage_incomplete', message })
  }
}
