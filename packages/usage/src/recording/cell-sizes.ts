/** The most names that are remembered. */
const MAX_NAMES = 1_000

/**
 * A sketch of the largest cells: exact sums from the time at which a name was last forgotten, so never too much. When
 * there are too many names, the smaller half is forgotten.
 */
export class CellSizes {
  #sizes = new Map<string, number>()

  /** Adds to the size of a cell. Returns the sum. */
  add(name: string, amount: number): number {
    const size = (this.#sizes.get(name) ?? 0) + amount
    this.#sizes.set(name, size)
    if (this.#sizes.size > MAX_NAMES) this.#forgetSmall()
    return size
  }

  #forgetSmall(): void {
    const largestFirst = [...this.#sizes].toSorted(([, a], [, b]) => b - a)
    this.#sizes = new Map(largestFirst.slice(0, MAX_NAMES / 2))
  }
}
