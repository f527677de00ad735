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
import { assertKnownOptions, assertPositiveInteger } from '../internal/validation.ts'
import { isChargeable, isDenied } from './store.ts'

/** Options of `memory`. */
export interface MemoryOptions {
  /**
   * Partitions kept at most, and as many plans and reservations beside them; past that, the least
   * recently used is forgotten. @default 10_000
   */
  readonly maxKeys?: number
}

interface UsedCell {
  state: unknown
  expiresAt: number
  /** True if it has been used since it was made, or last passed over. */
  isUsed: boolean
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
  assertKnownOptions('memory', options, ['maxKeys'])
  const maxKeys = assertPositiveInteger('memory.maxKeys', options.maxKeys ?? 10_000)
  const counts = new Map<string, UsedCell>()
  const records = new Map<string, UsedCell>()
  // Records without an end, such as a configuration, are few, and none may be forgotten.
  const lasting = new Map<string, UsedCell>()
  const all = [counts, records, lasting]

  function get(key: string, now: number): unknown {
    const cell = counts.get(key) ?? records.get(key) ?? lasting.get(key)
    if (cell === undefined || cell.expiresAt <= now) return undefined
    // Not by what is charged: a partition that is denied all the time must not be forgotten.
    cell.isUsed = true
    return cell.state
  }

  function keep(place: Map<string, UsedCell>, key: string, { state, expiresAt }: Cell): void {
    const cell = place.get(key)
    if (cell === undefined) {
      // A count may have been settled when its key was gone.
      if (place === counts) records.delete(key)
      place.set(key, { state, expiresAt, isUsed: false })
    } else {
      cell.state = state
      cell.expiresAt = expiresAt
    }
  }

  function remove(key: string): void {
    for (const cells of all) cells.delete(key)
  }

  const cells: Cells = {
    get,
    set(key, cell) {
      if (counts.has(key)) {
        keep(counts, key, cell)
      } else {
        remove(key)
        trim(records, maxKeys - 1)
        keep(cell.expiresAt === Infinity ? lasting : records, key, cell)
      }
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
    const read = reads.map(({ key, field }) => {
      const fields = get(key, now)
      // A count under the name of a record reads as nothing, as it does in Redis.
      return fields instanceof Map ? (fields as RecordFields).get(field) : undefined
    })
    return { source: 'memory', now, verdicts, read }
  }

  function charge(
    entries: readonly Entry[],
    states: readonly unknown[],
    verdicts: readonly MutableVerdict[],
    now: number,
    id: string,
  ): void {
    // Before anything is added: what is charged just now stays, or a policy would never count.
    if (counts.size + entries.length > maxKeys) {
      const fresh = entries.filter(
        (entry) => !counts.has(entry.key) && isChargeable(entry, entries, verdicts),
      )
      trim(counts, maxKeys - fresh.length)
    }
    let shared: Map<string, number> | undefined
    for (let index = 0; index < entries.length; index += 1) {
      const [entry, verdict] = [entries[index] as Entry, verdicts[index] as MutableVerdict]
      if (!isChargeable(entry, entries, verdicts)) continue
      const { key, policy } = entry
      let position = shared?.get(key)
      if (position === undefined) {
        const kept = policy.algorithm.add(states[index] as never, entry, now, id)
        keep(counts, key, kept)
        position = kept.position
        if (policy.keyspace) (shared ??= new Map<string, number>()).set(key, position)
      }
      verdict.charged = true
      verdict.position = position
    }
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

/**
 * Forgets the first of `map` that has not been used lately, until no more than `most` are left: the
 * clock algorithm, which orders nothing while there is room.
 */
function trim(map: Map<string, UsedCell>, most: number): void {
  for (const [key, cell] of map) {
    if (map.size <= most) return
    map.delete(key)
    if (!cell.isUsed) continue
    cell.isUsed = false
    map.set(key, cell)
  }
}
