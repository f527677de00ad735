import type {
  RecordCondition,
  RecordField,
  RecordWrite,
  SettleRequest,
  Store,
  StoreReply,
  StoreRequest,
} from '../store.ts'
import { unfitKeys } from '../store.ts'
import { knownOptions, positiveInteger } from '../validate.ts'

/** Options of `memory`. */
export interface MemoryOptions {
  /**
   * Partitions kept at most, and as many plans and reservations beside them; past that, the least
   * recently charged or written is forgotten. @default 10_000
   */
  readonly maxKeys?: number
}

/** A record with its fields. */
interface Stored {
  readonly fields: ReadonlyMap<string, string>
  readonly expiresAt: number
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
  const records = new Map<string, Stored>()
  // Records without an end, such as a configuration, are few, and none may be forgotten.
  const lasting = new Map<string, Stored>()

  function decide({ entries, apply, now, reads, id, hold }: StoreRequest): StoreReply {
    const states = entries.map(({ key }) => stateOf(key, now))
    const verdicts = entries.map((entry, index) => entry.algorithm.check(states[index], entry, now))
    const places = entries.map(() => 0)
    const denied = entries.some(({ enforced }, index) => enforced && !verdicts[index]?.fits)
    if (apply && !denied) {
      const done = new Set(unfitKeys(entries, verdicts))
      entries.forEach((entry, index) => {
        if (entry.cost === 0 || done.has(entry.key)) return
        done.add(entry.key)
        const slot = entry.algorithm.add(states[index], entry, now, id)
        keep(entry.key, slot)
        places[index] = slot.place
      })
      if (hold) write([{ key: hold.key, set: {}, ttlMs: hold.ttlMs }], undefined, now)
      // What was charged just now stays, or a policy would never count.
      trim(slots, Math.max(maxKeys, entries.length))
    }
    return { now, verdicts, places, read: reads.map((read) => fieldOf(read, now)) }
  }

  function settle({ hold, settlements, now }: SettleRequest): boolean {
    if (liveRecord(hold, now) === undefined) return false
    forget(hold)
    const settled = new Set<string>()
    for (const settlement of settlements) {
      const { key, algorithm, reserved, actual, id } = settlement
      if (settled.has(key)) continue
      settled.add(key)
      const state = stateOf(key, now)
      // Where nothing was charged there is nothing to correct, only something to add.
      const slot =
        reserved === 0
          ? algorithm.add(state, { ...settlement, cost: actual, enforced: false }, now, id)
          : state && algorithm.settle(state, settlement, now)
      if (slot) keep(key, slot)
    }
    return true
  }

  function keep(key: string, slot: Slot): void {
    slots.delete(key)
    slots.set(key, slot)
  }

  function stateOf(key: string, now: number): never | undefined {
    const slot = slots.get(key)
    // What an algorithm gets back is what it stored: the key names the algorithm.
    return slot !== undefined && slot.expiresAt > now ? (slot.state as never) : undefined
  }

  function forget(key: string): void {
    for (const map of [slots, records, lasting]) map.delete(key)
  }

  function liveRecord(key: string, now: number): Stored | undefined {
    const record = records.get(key) ?? lasting.get(key)
    return record !== undefined && record.expiresAt > now ? record : undefined
  }

  function fieldOf({ key, field }: RecordField, now: number): string | undefined {
    return liveRecord(key, now)?.fields.get(field)
  }

  function write(
    writes: readonly RecordWrite[],
    condition: RecordCondition | undefined,
    now: number,
  ): boolean {
    if (condition && fieldOf(condition, now) !== condition.is) return false
    for (const { key, set, ttlMs } of writes) {
      const fields = new Map([...(liveRecord(key, now)?.fields ?? []), ...Object.entries(set)])
      forget(key)
      const [map, expiresAt] = ttlMs === undefined ? [lasting, Infinity] : [records, now + ttlMs]
      map.set(key, { fields, expiresAt })
    }
    trim(records, Math.max(maxKeys, writes.length))
    return true
  }

  return {
    check: (request) => Promise.resolve(decide(request)),
    settle: (request) => Promise.resolve(settle(request)),
    write: (writes, condition, now = Date.now()) => Promise.resolve(write(writes, condition, now)),
    reset: (keys) => {
      for (const key of keys) forget(key)
      return Promise.resolve()
    },
  }
}

/** Forgets the first of `map` until no more than `most` are left. */
function trim(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return
    map.delete(key)
  }
}
