import type {
  Cell,
  Cells,
  Entry,
  RecordFields,
  Store,
  StoreReply,
  StoreRequest,
  Verdict,
} from './store.ts'
import { knownOptions, positiveInteger } from '../validate.ts'
import { isChargeable, isDenied } from './store.ts'

/** Options of `memory`. */
export interface MemoryOptions {
  /**
   * Partitions kept at most, and as many plans and reservations beside them; past that, the least
   * recently used is forgotten. @default 10_000
   */
  readonly maxKeys?: number
}

/** A verdict while it is being made. */
type MutableVerdict = { -readonly [Name in keyof Verdict]: Verdict[Name] }

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
  // In order of last use, so that the first is the one to forget.
  const counts = new Map<string, Cell>()
  const records = new Map<string, Cell>()
  // Records without an end, such as a configuration, are few, and none may be forgotten.
  const lasting = new Map<string, Cell>()
  const all = [counts, records, lasting]

  /** The state of a key, which is then the one used last: one that is denied all the time stays. */
  function get(key: string, now: number): unknown {
    for (const cells of all) {
      const cell = cells.get(key)
      if (cell === undefined) continue
      cells.delete(key)
      if (cell.expiresAt <= now) return undefined
      cells.set(key, cell)
      return cell.state
    }
    return undefined
  }

  function remove(key: string): void {
    for (const cells of all) cells.delete(key)
  }

  const cells: Cells = {
    get,
    set(key, cell) {
      const isCount = counts.has(key)
      remove(key)
      const place = isCount ? counts : cell.expiresAt === Infinity ? lasting : records
      place.set(key, cell)
      trim(records, maxKeys)
    },
    delete: remove,
  }

  function check({ entries, apply, now, reads, id, mark }: StoreRequest): StoreReply {
    const states = entries.map(({ key }) => get(key, now))
    const verdicts = entries.map((entry, index): MutableVerdict => {
      const found = entry.policy.algorithm.check(states[index] as never, entry, now)
      const { fits, available, resetMs, retryMs, waitMs = 0 } = found
      return { fits, charged: false, available, resetMs, retryMs, waitMs, position: 0 }
    })
    if (apply && !isDenied(entries, verdicts)) {
      charge(entries, states, verdicts, now, id)
      if (mark) cells.set(mark.key, { state: new Map(), expiresAt: now + mark.ttlMs })
    }
    const read = reads.map(({ key, field }) =>
      (get(key, now) as RecordFields | undefined)?.get(field),
    )
    return { source: 'memory', now, verdicts, read }
  }

  function charge(
    entries: readonly Entry[],
    states: readonly unknown[],
    verdicts: readonly MutableVerdict[],
    now: number,
    id: string,
  ): void {
    const positions = new Map<string, number>()
    for (const [index, entry] of entries.entries()) {
      if (!isChargeable(entry, entries, verdicts)) continue
      const { key, policy } = entry
      let position = positions.get(key)
      if (position === undefined) {
        const kept = policy.algorithm.add(states[index] as never, entry, now, id)
        counts.set(key, kept)
        position = kept.position
        positions.set(key, position)
      }
      Object.assign(verdicts[index] as MutableVerdict, { charged: true, position })
    }
    // What was charged just now stays, or a policy would never count.
    trim(counts, Math.max(maxKeys, entries.length))
  }

  return {
    check: (request) => Promise.resolve(check(request)),
    run: (operation) => Promise.resolve(operation.run(cells)),
    reset: (keys) => {
      for (const key of keys) remove(key)
      return Promise.resolve()
    },
  }
}

/** Forgets the first of `map` until no more than `most` are left. */
function trim(map: Map<string, unknown>, most: number): void {
  if (map.size <= most) return
  for (const key of map.keys()) {
    if (map.size <= most) return
    map.delete(key)
  }
}
