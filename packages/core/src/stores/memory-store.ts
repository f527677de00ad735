import type { StoredState } from '../algorithms/algorithm.ts'
import type {
  Entry,
  MarkedCharge,
  RecordValues,
  StateMap,
  Store,
  StoreReply,
  StoreRequest,
  Verdict,
} from './store.ts'
import { isChargeable, isDenied } from './store.ts'

/** A stored state, and its mark for the clock algorithm of `trim`. */
interface Item {
  state: unknown
  expiresAt: number
  /** True if it was read since it was stored, or since `trim` last spared it. */
  isUsed: boolean
}

type Items = Map<string, Item>

/** A verdict under construction. */
type MutableVerdict = { -readonly [Name in keyof Verdict]: Verdict[Name] }

export const MAX_KEYS = 10_000

/** Creates a store in memory that is part of a limiter. */
export function createMemory(maxKeys: number = MAX_KEYS): Store {
  const counts: Items = new Map()
  const records: Items = new Map()
  // Records without an end, such as a configuration: only your code makes them, and none may be dropped.
  const permanentRecords: Items = new Map()
  const all = [counts, records, permanentRecords]

  function get(key: string, now: number): unknown {
    const item = counts.get(key) ?? records.get(key) ?? permanentRecords.get(key)
    if (item === undefined || item.expiresAt <= now) return undefined
    // Reads count as use, not only charges: a partition that is always denied must not be dropped.
    item.isUsed = true
    return item.state
  }

  function put(items: Items, key: string, { state, expiresAt }: StoredState): void {
    const item = items.get(key)
    if (item === undefined) {
      // Settling may have stored a count as a record, when its key was gone.
      if (items === counts) records.delete(key)
      items.set(key, { state, expiresAt, isUsed: false })
    } else {
      item.state = state
      item.expiresAt = expiresAt
    }
  }

  function remove(key: string): void {
    for (const items of all) items.delete(key)
  }

  const states: StateMap = {
    get,
    set(key, stored) {
      if (counts.has(key)) {
        put(counts, key, stored)
      } else {
        remove(key)
        trim(records, maxKeys - 1)
        put(stored.expiresAt === Infinity ? permanentRecords : records, key, stored)
      }
    },
    delete: remove,
  }

  function check({ entries, apply, now, reads, id, mark, fit }: StoreRequest): StoreReply {
    const before = entries.map(({ key }) => get(key, now))
    const verdicts = entries.map((entry, index): MutableVerdict => {
      const finding = entry.policy.algorithm.check(before[index] as never, entry, now)
      return { waitMs: 0, ...finding, charged: false }
    })
    const granted = fit?.kind.grant(fit, entries, verdicts)
    if (apply && !isDenied(entries, verdicts)) {
      const charged = fit?.kind.charge(fit, entries, { verdicts, granted })
      const marked = charge(charged ?? entries, before, verdicts, now, id)
      mark?.kind.write(mark, states, marked, now)
    }
    const values = reads.map(({ key, field }) => {
      const record = get(key, now)
      // A count under the key of a record reads as nothing, as it does in Redis.
      return record instanceof Map ? (record as RecordValues).get(field) : undefined
    })
    return { source: 'memory', now, verdicts, values, granted }
  }

  function charge(
    entries: readonly Entry[],
    before: readonly unknown[],
    verdicts: readonly MutableVerdict[],
    now: number,
    id: string,
  ): MarkedCharge[] {
    makeRoom(entries, verdicts)
    const marked: MarkedCharge[] = []
    let sharedPositions: Map<string, number> | undefined
    for (let index = 0; index < entries.length; index += 1) {
      const [entry, verdict] = [entries[index] as Entry, verdicts[index] as MutableVerdict]
      if (!isChargeable(entry, entries, verdicts)) continue
      const { key, policy } = entry
      let position = sharedPositions?.get(key)
      if (position === undefined) {
        const stored = policy.algorithm.add(before[index] as never, entry, now, id)
        put(counts, key, stored)
        position = stored.position
        if (policy.keyspace) {
          ;(sharedPositions ??= new Map<string, number>()).set(key, position)
        }
      }
      verdict.charged = true
      marked.push({ index: entry.index, units: entry.cost, position })
    }
    return marked
  }

  /** Drops counts before any is charged: one dropped right after its charge would never count. */
  function makeRoom(entries: readonly Entry[], verdicts: readonly Verdict[]): void {
    if (counts.size + entries.length <= maxKeys) return
    const added = entries.filter(
      (entry) => !counts.has(entry.key) && isChargeable(entry, entries, verdicts),
    )
    trim(counts, maxKeys - added.length)
  }

  return {
    check: (request) => Promise.resolve(check(request)),
    run: async (operation) => operation.kind.run(states, operation),
    async reset(keys) {
      for (const key of keys) remove(key)
    },
  }
}

/**
 * Drops items that were not used lately until `max` are left. This is the clock algorithm: it keeps no
 * order while there is room, and spares each used item once.
 */
function trim(items: Items, max: number): void {
  for (const [key, item] of items) {
    if (items.size <= max) return
    items.delete(key)
    if (!item.isUsed) continue
    item.isUsed = false
    items.set(key, item)
  }
}
