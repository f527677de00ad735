/* The calls of one isolate, as they tell how an upstream is. */
import type { Measured } from './adaptation.ts'
import type { Outcome } from './outcome.ts'

/** Sums over calls, which can be added. */
export interface Sums {
  readonly calls: number
  readonly failed: number
  /** Of the logarithms of the latency (ms) of those that did not fail, and of their squares. */
  readonly logs: number
  readonly squares: number
  /** The time that calls have taken, and that those have which failed, in milliseconds. */
  readonly ms: number
  readonly failedMs: number
  readonly load: number
}

export const NO_SUMS: Sums = {
  calls: 0,
  failed: 0,
  logs: 0,
  squares: 0,
  ms: 0,
  failedMs: 0,
  load: 0,
}

const NAMES = Object.keys(NO_SUMS) as (keyof Sums)[]

export const addSums = (a: Sums, b: Partial<Sums>): Sums =>
  Object.fromEntries(NAMES.map((name) => [name, a[name] + (b[name] ?? 0)])) as unknown as Sums

/** The spread of latency to assume before it is measured: as if so many answers had shown it. */
const USUAL = { variance: 0.1, answers: 4 }

/** Returns what sums mean at a limit. Calls in flight fail for as long as they hold a slot; in a rate each counts once. */
export function measure(sums: Sums, limit: number, isRate: boolean): Measured {
  const { calls, failed, logs, squares, ms, failedMs } = sums
  const answers = calls - failed
  const mean = answers > 0 ? logs / answers : 0
  const spread = Math.max(0, squares - answers * mean * mean)
  const variance =
    (spread + USUAL.answers * USUAL.variance) / (Math.max(answers - 1, 0) + USUAL.answers)
  return {
    calls,
    failed,
    latencyMs: Math.exp(mean),
    // A few answers tell their own spread badly, too.
    error: Math.sqrt(variance / Math.max(answers, 1)) * (1 + 2 / Math.max(answers, 1)),
    wasted: isRate ? failed / Math.max(calls, 1) : failedMs / Math.max(ms, 1),
    load: Math.min(limit, sums.load / Math.max(calls, 1)),
  }
}

/** A call that was begun. */
interface Call {
  readonly startedAt: number
  readonly load: number
  /** Undefined while it runs. */
  ended?: { readonly ms: number; readonly outcome: Outcome }
}

/** Answers that take less (ms) count as so long: that is the noise of a machine, and no model is that fast. */
const LEAST_MS = 50

/** The time for which a load counts, in milliseconds. */
const PEAK_MS = 1_000

/** The most calls to remember. More tell no more. */
const MAX_CALLS = 1_000

/** The part of a limit that is in use once calls have taken notice of it, and the longest wait for that (ms). */
const FULL = 0.75
const FULL_WITHIN_MS = 2_000

/**
 * Takes calls in the order in which they began: who took those that have ended would see the fast ones alone. A call that
 * runs for much longer than the others counts as one that took so long.
 */
export class Samples {
  #limit = 1
  #since = 0
  #load: number | undefined
  #loadAt = 0
  #isFull = false
  #calls: Call[] = []
  /** True once a call was begun. */
  hasCalls = false

  /** Forgets calls that began at another limit. @param afterMs The time until others know this one. */
  restart(limit: number, now: number, afterMs: number): void {
    this.#limit = limit
    this.#since = now + afterMs
    this.#isFull = false
    this.#loadAt = -Infinity
    this.#calls = []
  }

  /** Takes notice of what is counted against the limit. Calls come in bursts: the most of the last second counts. */
  use(load: number, now: number): void {
    if (load < (this.#load ?? 0) && Math.abs(now - this.#loadAt) < PEAK_MS) return
    this.#load = load
    this.#loadAt = now
  }

  /** Notes the begin of a call. Returns a function that notes its end. */
  begin(now: number): (ms: number, outcome: Outcome) => void {
    this.hasCalls = true
    // A process that does not decide about its calls knows no load.
    const load = this.#load ?? this.#limit
    const sinceMs = now - this.#since
    this.#isFull ||= load >= FULL * this.#limit || sinceMs > FULL_WITHIN_MS
    if (sinceMs < 0 || !this.#isFull || this.#calls.length >= MAX_CALLS) return () => {}
    const call: Call = { startedAt: now, load }
    this.#calls.push(call)
    return (ms, outcome) => {
      call.ended = { ms, outcome }
    }
  }

  /**
   * Removes the oldest calls that have ended or take longer than `overdueMs`, and returns their sums. Calls younger than
   * `usualMs` stay: of these, refusals alone may have ended.
   */
  take(now: number, usualMs: number, overdueMs: number): Sums {
    let sums = NO_SUMS
    let taken = 0
    for (const { startedAt, load, ended } of this.#calls) {
      const ms = Math.max(1, ended?.ms ?? now - startedAt)
      if (now - startedAt < usualMs || (!ended && ms < overdueMs)) break
      taken += 1
      const outcome = ended?.outcome ?? 'success'
      if (outcome === 'none' || outcome === 'refusal') continue
      const log = Math.log(Math.max(ms, LEAST_MS))
      const answer = { logs: log, squares: log * log }
      const failure = { failed: 1, failedMs: ms }
      sums = addSums(sums, { calls: 1, ms, load, ...(outcome === 'success' ? answer : failure) })
    }
    this.#calls.splice(0, taken)
    return sums
  }
}
