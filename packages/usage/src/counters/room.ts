import { formatValues, isInPool, parseValues, type Counter, type CounterRank } from './counter.ts'

interface Candidate {
  readonly name: string
  readonly size: number
  readonly values: readonly number[]
}

/** Makes room in a full hash for the counters of a batch, of which none gives way. The script has its Lua twin. */
export class Room {
  readonly #hash: Map<string, string>
  readonly #batch: ReadonlySet<string>
  /** The counters that may give way, by family and pool, the largest first. */
  readonly #candidates = new Map<string, Candidate[]>()

  constructor(hash: Map<string, string>, batch: readonly Counter[]) {
    this.#hash = hash
    this.#batch = new Set(batch.map(({ name }) => name))
  }

  /** Adds the smallest counter to that of the family, if the new one is larger. */
  make({ name, values, rank }: Counter): boolean {
    // What corrects an earlier count belongs where that is.
    if (!rank || (values[0] ?? 0) <= 0) return false
    const family = name.slice(0, 1)
    const candidates = this.#candidatesFor(family, rank)
    const smallest = candidates.at(-1)
    if (!smallest || rank.size <= smallest.size) return false
    candidates.pop()
    const before = parseValues(this.#hash.get(family) ?? '0')
    const sum = smallest.values.map((value, index) => value + (before[index] ?? 0))
    this.#hash.delete(smallest.name)
    this.#hash.set(family, formatValues(sum))
    return true
  }

  #candidatesFor(family: string, { by, pool }: CounterRank): Candidate[] {
    const kind = `${family}${by}${pool}`
    const known = this.#candidates.get(kind)
    if (known) return known
    const found: Candidate[] = []
    for (const [name, text] of this.#hash) {
      if (!name.startsWith(family) || this.#batch.has(name) || !isInPool(name, pool)) continue
      const values = parseValues(text)
      found.push({ name, size: values[by] ?? 0, values })
    }
    found.sort((a, b) => b.size - a.size || (a.name < b.name ? 1 : -1))
    this.#candidates.set(kind, found)
    return found
  }
}
