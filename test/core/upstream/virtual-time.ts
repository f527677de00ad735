/* Virtual time: events in their order, each at its moment, without a wait. */

interface Event {
  readonly at: number
  readonly number: number
  readonly run: () => unknown
}

export class VirtualTime {
  now = 0
  #number = 0
  /** A binary heap. */
  readonly #events: Event[] = []

  /** Runs something at a time (ms). */
  at(time: number, run: () => unknown): void {
    const events = this.#events
    let place = events.push({ at: Math.max(time, this.now), number: (this.#number += 1), run }) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (isBefore(events[parent]!, events[place]!)) break
      this.#swap(parent, place)
      place = parent
    }
  }

  /** Runs all events up to a time. The promises of one are settled before the next. */
  async runUntil(end: number): Promise<void> {
    for (;;) {
      const [first] = this.#events
      if (!first || first.at > end) break
      this.#removeFirst()
      this.now = first.at
      if (first.run() instanceof Promise) await settled()
    }
    this.now = end
  }

  #removeFirst(): void {
    const events = this.#events
    const last = events.pop()!
    if (events.length === 0) return
    events[0] = last
    let place = 0
    for (;;) {
      const left = 2 * place + 1
      if (left >= events.length) return
      const right = left + 1
      const child = right < events.length && isBefore(events[right]!, events[left]!) ? right : left
      if (isBefore(events[place]!, events[child]!)) return
      this.#swap(place, child)
      place = child
    }
  }

  #swap(a: number, b: number): void {
    const events = this.#events
    ;[events[a], events[b]] = [events[b]!, events[a]!]
  }
}

const isBefore = (a: Event, b: Event): boolean =>
  a.at < b.at || (a.at === b.at && a.number < b.number)

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Returns numbers from 0 to 1, always the same for a seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
