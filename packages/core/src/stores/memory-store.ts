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
  readonly state: unknown
  readonly expiresAt: number
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
  // Apart, so that they displace no mark of an open reservation.
  const spentRecords: Items = new Map()
  const all = [counts, records, permanentRecords, spentRecords]

  function get(key: string, now: number): unknown {
    const item =
      counts.get(key) ?? records.get(key) ?? permanentRecords.get(key) ?? spentRecords.get(key)
    if (item === undefined || item.expiresAt <= now) return undefined
    // Reads count as use, not only charges: a partition that is always denied must not be dropped.
    item.isUsed = true
    return item.state
  }

  function put(items: Items, key: string, { state, expiresAt }: StoredState): void {
    // Settling may have stored a count as a record, when its key was gone.
    if (items === counts) records.delete(key)
    items.set(key, { state, expiresAt, isUsed: items.has(key) })
  }

  function remove(key: string): void {
    for (const items of all) items.delete(key)
  }

  const states: StateMap = {
    get,
    set(key, stored) {
      if (counts.has(key)) return put(counts, key, stored)
      const { expiresAt, isSpent } = stored
      const items = isSpent ? spentRecords : expiresAt === Infinity ? permanentRecords : records
      remove(key)
      if (items !== permanentRecords) trim(items, maxKeys - 1)
      put(items, key, stored)
    },
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
    const charged = entries.filter((entry) => isChargeable(entry, entries, verdicts))
    // Before any is charged: one dropped right after its charge would never count.
    trim(counts, maxKeys - charged.filter(({ key }) => !counts.has(key)).length)
    // By key, which policies of one keyspace share.
    const positions = new Map<string, number>()
    return charged.map((entry) => {
      const { key, policy, cost, index } = entry
      const at = entries.indexOf(entry)
      let position = positions.get(key)
      if (position === undefined) {
        const stored = policy.algorithm.add(before[at] as never, entry, now, id)
        put(counts, key, stored)
        position = stored.position
        positions.set(key, position)
      }
      ;(verdicts[at] as MutableVerdict).charged = true
      return { index, units: cost, position }
    })
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
