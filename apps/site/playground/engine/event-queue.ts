interface Event {
  readonly at: number
  /** Of two at the same time, the lower is first. */
  readonly order: number
}

/** Events in the order of their times: a binary heap. */
export class EventQueue<Item extends Event> {
  readonly #heap: Item[] = []

  get first(): Item | undefined {
    return this.#heap[0]
  }

  add(item: Item): void {
    const heap = this.#heap
    let at = heap.push(item) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = heap[above] as Item
      if (!isBefore(item, parent)) break
      heap[at] = parent
      at = above
    }
    heap[at] = item
  }

  take(): Item | undefined {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Item, heap[below] as Item))
        below += 1
      if (below >= heap.length || !isBefore(heap[below] as Item, last)) break
      heap[at] = heap[below] as Item
      at = below
    }
    heap[at] = last
    return first
  }
}

const isBefore = (a: Event, b: Event): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order)
