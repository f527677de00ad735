import type { Call } from '../call.ts'

/** The bounds within which calls may be out of order. */
export interface ReorderBounds {
  /** The most calls to hold back. */
  readonly calls: number
  /** The longest time between the latest call and one held back, in milliseconds. */
  readonly windowMs: number
}

/** Puts calls in the order of their times, within bounds. A call that comes later than that goes to `late`. */
export async function* reorder(
  calls: AsyncIterable<Call>,
  bounds: ReorderBounds,
  late: (call: Call) => void,
): AsyncGenerator<Call> {
  // Sorted, and nearly always appended to. Calls before `start` are done.
  let held: Call[] = []
  let start = 0
  let lastAt = -Infinity
  for await (const call of calls) {
    if (call.at < lastAt) {
      late(call)
      continue
    }
    insert(held, start, call)
    const newest = held.at(-1)?.at ?? 0
    while (held.length - start > bounds.calls || newest - at(held, start) > bounds.windowMs) {
      const first = held[start] as Call
      lastAt = first.at
      start += 1
      yield first
    }
    if (start > 10_000) [held, start] = [held.slice(start), 0]
  }
  yield* held.slice(start)
}

const at = (held: readonly Call[], index: number): number => held[index]?.at ?? Infinity

/** Inserts a call behind all that are not later. */
function insert(held: Call[], start: number, call: Call): void {
  let [low, high] = [start, held.length]
  if (call.at >= at(held, high - 1) || low === high) low = high
  while (low < high) {
    const middle = (low + high) >> 1
    if (at(held, middle) <= call.at) low = middle + 1
    else high = middle
  }
  if (low === held.length) held.push(call)
  else held.splice(low, 0, call)
}
