import type { Problem, Records, WaitUntil } from '@sluice/core'
import type { CounterBatch, CounterGroup } from './counter.ts'
import { BackgroundFlush } from '../background-flush.ts'
import { addCounters, RESEND_MS, type Added } from './add/operation.ts'

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
  /** Called when a hash is full. @default nothing */
  readonly onOverflow?: () => void
}

/** Returns counters that were taken: the same at each call. */
export type TakenCounters = () => readonly CounterGroup[] | Promise<readonly CounterGroup[]>

/** Counters that were taken, and of which the store has not said that it has them. */
interface UnsavedBatch {
  readonly mark: string
  readonly counters: TakenCounters
  /** The time of the first attempt at the part that comes next, in epoch ms. */
  sentAt: number | undefined
  /** The number of parts that the store has. */
  savedParts: number
}

/** The most counters in one call, which takes the store a few milliseconds. */
const PART_LENGTH = 250

/**
 * Saves counters in the background: `everyMs` after the first of them was counted, in a call for each 250 of them.
 * A batch whose reply was lost is sent again, and counts once. While the store fails, later counts gather in
 * memory, and are sent again, by a process without requests, too. An isolate that ends loses what it has counted since
 * its last flush.
 */
export class CounterFlush {
  readonly #options: CounterFlushOptions
  readonly #background: BackgroundFlush
  #unsaved: UnsavedBatch | undefined

  constructor(options: CounterFlushOptions) {
    this.#options = options
    const { title, everyMs, problem } = options
    this.#background = new BackgroundFlush({
      everyMs,
      flush: () => this.flush(),
      failure: `${title} could not be saved; it is kept, and sent again with a later flush`,
      problem,
    })
  }

  /** Makes sure that a flush is coming. Call it in a request, with its `waitUntil`. */
  schedule(waitUntil: WaitUntil | undefined): void {
    this.#background.schedule(waitUntil)
  }

  /** Flushes now, in the background, unless a batch is under way or has failed. */
  flushSoon(waitUntil: WaitUntil | undefined): void {
    if (!this.#unsaved) this.#background.flushSoon(waitUntil)
  }

  /** Saves all that was counted before the call. @throws StoreError When the store fails: it is kept, and sent again. */
  async flush(): Promise<void> {
    try {
      await this.#saveAll()
    } catch (error) {
      this.#background.retry()
      throw error
    }
    this.#background.forgetRetry()
  }

  async #saveAll(): Promise<void> {
    // A flush waits for no other: the request of the other may have been cut off.
    while (this.#unsaved) await this.#send(this.#unsaved)
    const counters = this.#options.take()
    if (!counters) return
    const mark = `${this.#options.key}:batch:${crypto.randomUUID()}`
    this.#unsaved = { mark, counters, sentAt: undefined, savedParts: 0 }
    await this.#send(this.#unsaved)
  }

  /** Sends a batch, part by part: one without its counters if they might count twice, to learn what became of it. */
  async #send(batch: UnsavedBatch): Promise<void> {
    const parts = partsOf(await batch.counters())
    let hasOverflowed = false
    while (batch.savedParts < parts.length) {
      const part = batch.savedParts
      const isTooOld = Date.now() - (batch.sentAt ?? Infinity) >= RESEND_MS
      const added = await this.#add(batch, isTooOld ? [] : (parts[part] ?? []))
      hasOverflowed ||= added === 'overflowed'
      if (added === 'added' && isTooOld) this.#reportLoss()
      // Another flush may have sent the same part meanwhile.
      if (batch.savedParts === part)
        Object.assign(batch, { savedParts: part + 1, sentAt: undefined })
    }
    if (this.#unsaved === batch) this.#unsaved = undefined
    if (hasOverflowed) this.#reportOverflow()
  }

  #add(batch: UnsavedBatch, groups: CounterBatch['groups']): Promise<Added> {
    const { records, clock, maxCounters } = this.#options
    const mark = `${batch.mark}:${batch.savedParts}`
    const startedAt = Date.now()
    batch.sentAt ??= startedAt
    return records.run(addCounters({ mark, maxCounters, groups }, clock(), startedAt))
  }

  #reportLoss(): void {
    const { title, problem } = this.#options
    const message = `${title} of one flush may be lost: the store failed for too long to send it again`
    problem({ code: 'usage_incomplete', message })
  }

  #reportOverflow(): void {
    const { title, maxCounters, problem, onOverflow } = this.#options
    onOverflow?.()
    const message = `${title} has more than ${maxCounters} counters at a time: the rest shares one`
    problem({ code: 'usage_incomplete', message })
  }
}

/** Splits groups into parts of at most `PART_LENGTH` counters. */
function partsOf(groups: readonly CounterGroup[]): CounterGroup[][] {
  const parts: CounterGroup[][] = []
  let room = 0
  for (const { hashes, counters } of groups) {
    for (let start = 0; start < counters.length;) {
      if (room === 0) {
        parts.push([])
        room = PART_LENGTH
      }
      const taken = counters.slice(start, start + room)
      parts.at(-1)?.push({ hashes, counters: taken })
      start += taken.length
      room -= taken.length
    }
  }
  return parts
}
