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

/** Collects the facts of a log while it is read. */
export interface FactCollector {
  ignored: number
  unmatched: number
  others: number
  addFault(fault: Fault): void
  read(): LogFacts
}

/** The lines to show of each kind. */
const SHOWN = 5

/** Creates an empty collector. */
export function createFacts(): FactCollector {
  let first: Fault[] = []
  let malformed = 0
  const collector: FactCollector = {
    ignored: 0,
    unmatched: 0,
    others: 0,
    addFault(fault) {
      malformed += 1
      // A parser finds its faults some rows ahead of those of values.
      if (first.length === SHOWN && fault.line > (first.at(-1)?.line ?? 0)) return
      first = [...first, fault].toSorted((a, b) => a.line - b.line).slice(0, SHOWN)
    },
    read: () => ({
      malformed: { count: malformed, first },
      ignored: collector.ignored,
      unmatched: collector.unmatched,
      others: collector.others,
    }),
  }
  return collector
}
