import type { Store, StoreReply, StoreRequest } from '../store.ts'
import { knownOptions, positiveInteger } from '../validate.ts'

/** Options of `memory`. */
export interface MemoryOptions {
  /** Partitions kept at most; past that, the least recently charged is forgotten. @default 10_000 */
  readonly maxKeys?: number
}

interface Slot {
  readonly state: unknown
  readonly expiresAt: number
}

/**
 * A store in this process's memory: for development, tests and single-process servers. Processes and
 * isolates do not share it.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * const limiter = createLimiter({ store: memory(), policies })
 */
export function memory(options: MemoryOptions = {}): Store {
  knownOptions('memory', options, ['maxKeys'])
  const maxKeys = positiveInteger('memory.maxKeys', options.maxKeys ?? 10_000)
  // In order of last charge, so that the first is the one to forget.
  const slots = new Map<string, Slot>()

  function decide({ entries, apply, now }: StoreRequest): StoreReply {
    const states = entries.map(({ key }) => stateOf(key, now))
    const verdicts = entries.map((entry, index) => entry.algorithm.check(states[index], entry, now))
    if (apply && verdicts.every((verdict) => verdict.fits)) {
      entries.forEach((entry, index) => {
        if (entry.cost === 0) return
        slots.delete(entry.key)
        slots.set(entry.key, entry.algorithm.add(states[index], entry, now))
      })
      // What was charged just now stays, or a policy would never count.
      trim(Math.max(maxKeys, entries.length))
    }
    return { now, verdicts }
  }

  function stateOf(key: string, now: number): never | undefined {
    const slot = slots.get(key)
    // What an algorithm gets back is what it stored: the key names the algorithm.
    return slot !== undefined && slot.expiresAt > now ? (slot.state as never) : undefined
  }

  function trim(most: number): void {
    for (const key of slots.keys()) {
      if (slots.size <= most) return
      slots.delete(key)
    }
  }

  return {
    check: (request) => Promise.resolve(decide(request)),
    reset: (keys) => {
      for (const key of keys) slots.delete(key)
      return Promise.resolve()
    },
  }
}
