/** An item, and the look-up at which it was last moved to the end. */
interface Placed<Item> {
  item: Item
  movedAt: number
}

/**
 * Items by key. Past `max`, the least recently used is dropped, to within `max / 2` look-ups: an item moves
 * to the end only once in so many, because a Map slows down if one key is deleted and set again and again.
 */
export class RecentItems<Item> {
  readonly #items = new Map<string, Placed<Item>>()
  readonly #max: number
  #lookUps = 0

  constructor(max: number) {
    this.#max = max
  }

  get(key: string): Item | undefined {
    this.#lookUps += 1
    const placed = this.#items.get(key)
    if (placed && this.#lookUps - placed.movedAt > this.#max / 2) {
      this.#items.delete(key)
      this.#items.set(key, placed)
      placed.movedAt = this.#lookUps
    }
    return placed?.item
  }

  set(key: string, item: Item): void {
    const placed = this.#items.get(key)
    if (placed) placed.item = item
    else this.#items.set(key, { item, movedAt: this.#lookUps })
    const [oldest = key] = this.#items.keys()
    if (this.#items.size > this.#max) this.#items.delete(oldest)
  }

  delete(key: string): void {
    this.#items.delete(key)
  }
}
