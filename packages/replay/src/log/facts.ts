import type { Fault } from './row.ts'

/** The lines of a log that were not replayed. */
export interface LogFacts {
  /** Lines that cannot be read, and the first of them. */
  readonly malformed: { readonly count: number; readonly first: readonly Fault[] }
  /** Calls left out because of their status. */
  readonly ignored: number
  /** Calls left out because they match none of `routes`. */
  readonly unmatched: number
  /** Lines of an app's log that are no requests, and further lines of a request. */
  readonly others: number
}

/** The lines to show of each kind. */
const SHOWN = 5

/** Collects the facts of a log while it is read. */
export class FactCollector {
  ignored = 0
  unmatched = 0
  others = 0
  #count = 0
  #first: readonly Fault[] = []

  addFault(fault: Fault): void {
    this.#count += 1
    // A parser finds its faults some rows ahead of those of values.
    if (this.#first.length === SHOWN && fault.line > (this.#first.at(-1)?.line ?? 0)) return
    this.#first = [...this.#first, fault].toSorted((a, b) => a.line - b.line).slice(0, SHOWN)
  }

  read(): LogFacts {
    const { ignored, unmatched, others } = this
    return { malformed: { count: this.#count, first: this.#first }, ignored, unmatched, others }
  }
}
