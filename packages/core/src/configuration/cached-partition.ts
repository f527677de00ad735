import type { Clock } from '../clock.ts'
import type { Records } from '../limiter/records.ts'
import type { RecordField } from '../stores/store.ts'
import type { EntrySettings } from './settings.ts'
import { clockMovedBack, FRESH_MS } from '../internal/freshness.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { singleFlight } from '../internal/single-flight.ts'

/** The settings of one partition, by the names of policies. */
export type PartitionSettings = ReadonlyMap<string, EntrySettings>

/** One version of a partition's record. */
export interface LoadedRecord {
  readonly text: string | undefined
  readonly settings: PartitionSettings
}

/** The parts of an extension that its partitions share. */
export interface RecordSource {
  readonly records: Records
  readonly clock: Clock
  readonly parse: (text: string | undefined) => PartitionSettings
}

/**
 * The record of one partition as an isolate knows it, in one of three states:
 *
 * - unknown, before the first load: decisions wait for it;
 * - fresh, for 5 seconds from a read: decisions rely on it;
 * - stale, after that: the next decision relies on it too, if the store still has the same text.
 */
export class CachedPartition {
  readonly field: RecordField
  /** Loads the record, once for all requests of the isolate that wait for it. @throws StoreError */
  readonly load: (startedAt: number) => Promise<LoadedRecord>
  readonly #source: RecordSource
  #record: LoadedRecord | undefined
  #readAt = 0

  constructor(field: RecordField, source: RecordSource) {
    this.field = field
    this.#source = source
    this.load = singleFlight(
      async (startedAt: number) => {
        const readAt = source.clock()
        const [text] = await source.records.read([field], startedAt)
        return this.update(text, readAt)
      },
      () => this.#record,
    )
  }

  /** The record; `undefined` before the first load. */
  get record(): LoadedRecord | undefined {
    return this.#record
  }

  isFresh(now: number): boolean {
    const freshUntil = this.#readAt + FRESH_MS
    return now < freshUntil && !clockMovedBack(freshUntil, now)
  }

  /** Applies the text that the record had at `readAt`, unless a later one is known. Returns the latest. */
  update(text: string | undefined, readAt: number): LoadedRecord {
    const isLate = readAt < this.#readAt && this.#readAt <= this.#source.clock()
    if (this.#record && isLate) return this.#record
    this.#readAt = readAt
    if (!this.#record || this.#record.text !== text) {
      this.#record = { text, settings: this.#source.parse(text) }
    }
    return this.#record
  }
}

/** The most partitions that an isolate remembers. */
const MAX_PARTITIONS = 10_000

/** The partitions that an isolate knows. It forgets those not used lately. */
export class PartitionCache {
  readonly #partitions = new RecentItems<CachedPartition>(MAX_PARTITIONS)

  /** Returns the partition of a record, which is unknown if the isolate does not remember it. */
  get(field: RecordField, source: RecordSource): CachedPartition {
    const known = this.#partitions.get(field.key)
    if (known) return known
    const partition = new CachedPartition(field, source)
    this.#partitions.set(field.key, partition)
    return partition
  }

  /** Makes the next request load the record. Requests under way keep the old object, and cannot undo it. */
  expire(key: string): void {
    this.#partitions.delete(key)
  }
}
