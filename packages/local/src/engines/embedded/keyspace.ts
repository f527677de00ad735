import { SortedSet } from './sorted-set.ts'
import { Fault, WRONG_TYPE } from './value.ts'

/** A value of a key. */
export type Data = string | string[] | Map<string, string> | SortedSet

interface Entry {
  data: Data
  expiresAt: number | undefined
}

/** All keys of a moment. */
export type Snapshot = ReadonlyMap<string, Readonly<Entry>>

export type Refuse = (name: string, isWrite: boolean) => string | undefined

const SWEEP_INTERVAL_MS = 1_000

/** Holds all keys. Time stands still during a command or a script; `beginTick` advances it. */
export class Keyspace {
  readonly refuse: Refuse
  readonly #clock: () => number
  #entries = new Map<string, Entry>()
  #nowMs = 0
  #sweptAtMs = 0
  #timedAtMs = 0
  #timesInMs = 0

  constructor(clock: () => number, refuse: Refuse = () => undefined) {
    this.#clock = clock
    this.refuse = refuse
  }

  /** The time of the current command, in milliseconds since the epoch. */
  get nowMs(): number {
    return this.#nowMs
  }

  beginTick(): void {
    this.#nowMs = this.#clock()
    if (Math.abs(this.#nowMs - this.#sweptAtMs) >= SWEEP_INTERVAL_MS) this.#sweep()
  }

  /** The time in microseconds: calls within one millisecond are numbered. */
  microTime(): [seconds: string, microseconds: string] {
    const nowMs = this.#clock()
    this.#timesInMs = nowMs === this.#timedAtMs ? Math.min(this.#timesInMs + 1, 999) : 0
    this.#timedAtMs = nowMs
    return [String(Math.floor(nowMs / 1_000)), String((nowMs % 1_000) * 1_000 + this.#timesInMs)]
  }

  snapshot(): Snapshot {
    return copyOf(this.#entries)
  }

  restore(snapshot: Snapshot): void {
    this.#entries = copyOf(snapshot)
  }

  string(key: string): string | undefined {
    return this.#typed(key, (data) => typeof data === 'string')
  }

  hash(key: string): Map<string, string> | undefined {
    return this.#typed(key, (data) => data instanceof Map)
  }

  list(key: string): string[] | undefined {
    return this.#typed(key, (data) => Array.isArray(data))
  }

  sortedSet(key: string): SortedSet | undefined {
    return this.#typed(key, (data) => data instanceof SortedSet)
  }

  data(key: string): Data | undefined {
    return this.#live(key)?.data
  }

  /** Sets a value, and drops the key's expiry unless `keepExpiry`. */
  set(key: string, data: Data, keepExpiry = false): void {
    const expiresAt = keepExpiry ? this.#live(key)?.expiresAt : undefined
    this.#entries.set(key, { data, expiresAt })
  }

  delete(key: string): boolean {
    return this.#live(key) !== undefined && this.#entries.delete(key)
  }

  /** Deletes an empty hash or sorted set, as Redis does. */
  deleteIfEmpty(key: string, data: Map<string, string> | SortedSet): void {
    if (data.size === 0) this.#entries.delete(key)
  }

  /** The expiry in epoch milliseconds: undefined for a key without one, null for a missing key. */
  expiry(key: string): number | undefined | null {
    const entry = this.#live(key)
    return entry ? entry.expiresAt : null
  }

  /** Sets or drops the expiry of an existing key. An expiry in the past deletes the key. */
  expire(key: string, expiresAt: number | undefined): void {
    const entry = this.#live(key)
    if (!entry) return
    if (expiresAt !== undefined && expiresAt <= this.#nowMs) this.#entries.delete(key)
    else entry.expiresAt = expiresAt
  }

  keys(): string[] {
    this.#sweep()
    return [...this.#entries.keys()]
  }

  clear(): void {
    this.#entries.clear()
  }

  #typed<T extends Data>(key: string, isOfType: (data: Data) => data is T): T | undefined {
    const data = this.data(key)
    if (data === undefined || isOfType(data)) return data
    throw new Fault(WRONG_TYPE)
  }

  #live(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (!entry || !this.#isExpired(entry)) return entry
    this.#entries.delete(key)
    return undefined
  }

  #isExpired(entry: Entry): boolean {
    return entry.expiresAt !== undefined && entry.expiresAt <= this.#nowMs
  }

  #sweep(): void {
    this.#sweptAtMs = this.#nowMs
    for (const [key, entry] of this.#entries) {
      if (this.#isExpired(entry)) this.#entries.delete(key)
    }
  }
}

function copyOf(entries: Snapshot): Map<string, Entry> {
  const copied = Array.from(entries, ([key, { data, expiresAt }]): [string, Entry] => [
    key,
    { data: copyOfData(data), expiresAt },
  ])
  return new Map(copied)
}

function copyOfData(data: Data): Data {
  if (typeof data === 'string') return data
  if (Array.isArray(data)) return [...data]
  return data instanceof Map ? new Map(data) : data.copy()
}
