import type { StoredState } from '../algorithms/algorithm.ts'
import type { Store } from './store.ts'
import { decideOn, type CountedStates } from './decide-on.ts'

/** A stored state, and its mark for the clock algorithm of `trim`. */
interface Item {
  readonly state: unknown
  readonly expiresAt: number
  /** True if it was read since it was stored, or since `trim` last spared it. */
  isUsed: boolean
}

type Items = Map<string, Item>

export const MAX_KEYS = 10_000

/** Creates a store in memory that is part of a limiter. */
export function createMemory(maxKeys: number = MAX_KEYS): Store {
  const counts: Items = new Map()
  const records: Items = new Map()
  // Records without an end, such as a configuration, and balances: only your code makes them, and none may be dropped.
  const permanentRecords: Items = new Map()
  // Apart, so that they displace no mark of an open reservation.
  const spentRecords: Items = new Map()
  const all = [counts, records, permanentRecords, spentRecords]

  const find = (key: string): Item | undefined =>
    counts.get(key) ?? records.get(key) ?? permanentRecords.get(key) ?? spentRecords.get(key)

  function get(key: string, now: number): unknown {
    const item = find(key)
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

  const states: CountedStates = {
    get,
    expiresAt: (key) => find(key)?.expiresAt,
    count: (key, stored) =>
      stored.expiresAt === Infinity ? states.set(key, stored) : put(counts, key, stored),
    makeRoom: (entries) =>
      trim(counts, maxKeys - entries.filter(({ key }) => !counts.has(key)).length),
    set(key, stored) {
      const { expiresAt, isSpent } = stored
      if (expiresAt < Infinity && counts.has(key)) return put(counts, key, stored)
      const items = isSpent ? spentRecords : expiresAt === Infinity ? permanentRecords : records
      remove(key)
      if (items !== permanentRecords) trim(items, maxKeys - 1)
      put(items, key, stored)
    },
  }

  return {
    check: async (request) => decideOn(states, request),
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
