import type { StateMap } from '@sluice/core'
import {
  formatValues,
  isInPool,
  parseValues,
  storedValues,
  type Counter,
  type CounterBatch,
  type CounterRank,
} from '../counter.ts'

interface Candidate {
  readonly name: string
  readonly size: number
  readonly values: readonly number[]
}

/** Adds a batch. Returns true if some counters are in the rest of their family. */
export function addInMemory(states: StateMap, batch: CounterBatch, now: number): boolean {
  let hasOverflowed = false
  for (const { hashes, counters } of batch.groups) {
    const rejected = new Set<Counter>()
    for (const [index, { key, expiresAt }] of hashes.entries()) {
      const known = states.get(key, now) as Map<string, string> | undefined
      const values = known ?? new Map<string, string>()
      const hash = new OpenHash(values, batch.maxCounters, counters)
      for (const counter of counters) {
        if (rejected.has(counter)) continue
        const name = hash.nameFor(counter)
        hasOverflowed ||= name !== counter.name
        if (index === 0 && hash.isClaimed(name, counter)) rejected.add(counter)
        else hash.add(name, storedValues(counter), counter.claim !== undefined)
      }
      if (!known) states.set(key, { state: values, expiresAt })
    }
  }
  return hasOverflowed
}

/** A hash while a batch is added to it. No counter of the batch gives way. */
class OpenHash {
  readonly #values: Map<string, string>
  readonly #maxCounters: number
  readonly #batch: ReadonlySet<string>
  /** The counters that may give way, by family and pool, the largest first. */
  readonly #candidates = new Map<string, Candidate[]>()

  constructor(values: Map<string, string>, maxCounters: number, batch: readonly Counter[]) {
    this.#values = values
    this.#maxCounters = maxCounters
    this.#batch = new Set(batch.map(({ name }) => name))
  }

  /** Returns the name to add a counter to: that of its family's rest if the hash is full. */
  nameFor({ name, values, rank }: Counter): string {
    if (this.#values.has(name) || this.#values.size < this.#maxCounters) return name
    const family = name.slice(0, 1)
    // A correction belongs where the earlier count is.
    const mayPush = rank !== undefined && (values[0] ?? 0) > 0
    return mayPush && this.#makeRoom(family, rank) ? name : family
  }

  /** Returns true if an earlier claim still lasts. */
  isClaimed(name: string, { claim }: Counter): boolean {
    const [until = 0] = parseValues(this.#values.get(name) ?? '0')
    return claim !== undefined && claim.at < until
  }

  add(name: string, added: readonly number[], isClaim: boolean): void {
    const before = parseValues(this.#values.get(name) ?? '0')
    const sum = added.map((value, index) =>
      isClaim && index === 0 ? Math.max(value, before[0] ?? 0) : value + (before[index] ?? 0),
    )
    this.#values.set(name, formatValues(sum))
  }

  /** Adds the smallest candidate to the family's rest, if the new counter is larger. */
  #makeRoom(family: string, rank: CounterRank): boolean {
    const candidates = this.#candidatesFor(family, rank)
    const smallest = candidates.at(-1)
    if (!smallest || rank.size <= smallest.size) return false
    candidates.pop()
    this.add(family, smallest.values, false)
    this.#values.delete(smallest.name)
    return true
  }

  #candidatesFor(family: string, { by, pool }: CounterRank): Candidate[] {
    const kind = `${family}${by}${pool}`
    const known = this.#candidates.get(kind)
    if (known) return known
    const found: Candidate[] = []
    for (const [name, text] of this.#values) {
      if (!name.startsWith(family) || this.#batch.has(name) || !isInPool(name, pool)) continue
      const values = parseValues(text)
      found.push({ name, size: values[by] ?? 0, values })
    }
    found.sort((a, b) => b.size - a.size || (a.name < b.name ? 1 : -1))
    this.#candidates.set(kind, found)
    return found
  }
}
