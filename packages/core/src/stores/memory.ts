import type {
  Entry,
  RecordCondition,
  RecordField,
  SettleRequest,
  Store,
  StoreReply,
  StoreRequest,
  Verdict,
  WriteRequest,
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

/** A record with its fields. */
interface Stored {
  readonly fields: ReadonlyMap<string, string>
  readonly expiresAt: number
}

/** A verdict while it is being made. */
type MutableVerdict = { -readonly [Name in keyof Verdict]: Verdict[Name] }

interface Slot {
  state: unknown
  expiresAt: number
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
  // In order of last use, so that the first is the one to forget.
  const slots = new Map<string, Slot>()
  const records = new Map<string, Stored>()
  // Records without an end, such as a configuration, are few, and none may be forgotten.
  const lasting = new Map<string, Stored>()

  function check({ entries, apply, now, reads, id, mark }: StoreRequest): StoreReply {
    const states = entries.map(({ key }) => use(key, now))
    const verdicts = entries.map((entry, index): MutableVerdict => {
      const found = entry.policy.algorithm.check(states[index] as never, entry, now)
      return { ...found, charged: false, position: 0 }
    })
    if (apply && !isDenied(entries, verdicts)) {
      charge(entries, states, verdicts, now, id)
      if (mark) put(mark.key, {}, mark.ttlMs, now)
    }
    const read = reads.map((field) => fieldOf(field, now))
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
        keep(key, kept)
        position = kept.position
        positions.set(key, position)
      }
      Object.assign(verdicts[index] as MutableVerdict, { charged: true, position })
    }
    // What was charged just now stays, or a policy would never count.
    trim(slots, Math.max(maxKeys, entries.length))
  }

  function settle({ mark, charges, now }: SettleRequest): readonly number[] | undefined {
    if (liveRecord(mark, now) === undefined) return undefined
    forget(mark)
    return charges.map((charge) => {
      const { key, policy } = charge
      const kept = policy.algorithm.settle(use(key, now) as never, charge, now)
      if (kept) keep(key, kept)
      return kept?.applied ?? 0
    })
  }

  function keep(key: string, { state, expiresAt }: Slot): void {
    const slot = slots.get(key)
    if (slot === undefined) {
      slots.set(key, { state, expiresAt })
    } else {
      slot.state = state
      slot.expiresAt = expiresAt
    }
  }

  /** The state of a key, which is then the one used last: one that is denied all the time stays. */
  function use(key: string, now: number): unknown {
    const slot = slots.get(key)
    if (slot === undefined) return undefined
    slots.delete(key)
    if (slot.expiresAt <= now) return undefined
    slots.set(key, slot)
    return slot.state
  }

  function forget(key: string): void {
    slots.delete(key)
    records.delete(key)
    lasting.delete(key)
  }

  function liveRecord(key: string, now: number): Stored | undefined {
    const record = records.get(key) ?? lasting.get(key)
    return record !== undefined && record.expiresAt > now ? record : undefined
  }

  function fieldOf({ key, field }: RecordField, now: number): string | undefined {
    return liveRecord(key, now)?.fields.get(field)
  }

  function put(
    key: string,
    set: Readonly<Record<string, string>>,
    ttlMs: number | undefined,
    now: number,
  ): void {
    const fields = new Map([...(liveRecord(key, now)?.fields ?? []), ...Object.entries(set)])
    forget(key)
    const [map, expiresAt] = ttlMs === undefined ? [lasting, Infinity] : [records, now + ttlMs]
    map.set(key, { fields, expiresAt })
    trim(records, maxKeys)
  }

  function write({ writes, condition, now }: WriteRequest): boolean {
    if (!holds(condition, now)) return false
    for (const { key, set, ttlMs } of writes) put(key, set, ttlMs, now)
    return true
  }

  const holds = (condition: RecordCondition | undefined, now: number): boolean =>
    condition === undefined || fieldOf(condition, now) === condition.is

  return {
    check: (request) => Promise.resolve(check(request)),
    settle: (request) => Promise.resolve(settle(request)),
    write: (request) => Promise.resolve(write(request)),
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
