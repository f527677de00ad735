import type { Clock } from '../clock.ts'
import type { Records } from '../limiter/records.ts'
import type { SettingsLookup } from '../limiter/resolve.ts'
import type { RecordField } from '../stores/store.ts'
import { SettingsCopy } from './settings-copy.ts'
import { resolveSettings, type EntrySettings } from './settings.ts'

/** The settings of one partition, by the names of policies. */
export type PartitionSettings = ReadonlyMap<string, EntrySettings>

/** A partition's record, whose text is its version. */
interface LoadedRecord {
  readonly version: string | undefined
  readonly settings: PartitionSettings
}

/** The parts of an extension that its partitions share. */
export interface RecordSource {
  readonly records: Records
  readonly clock: Clock
  readonly parse: (text: string | undefined) => PartitionSettings
}

/** The record of one partition as an isolate knows it. */
export class PartitionCopy extends SettingsCopy<LoadedRecord> {
  readonly #source: RecordSource

  constructor(field: RecordField, source: RecordSource) {
    super(source.clock, field)
    this.#source = source
  }

  async read(startedAt?: number): Promise<LoadedRecord> {
    const [text] = await this.#source.records.read([this.versionField], startedAt)
    return this.parse(text)
  }

  protected override parse(version: string | undefined): LoadedRecord {
    return { version, settings: this.#source.parse(version) }
  }

  protected settingsOf(record: LoadedRecord | undefined): SettingsLookup {
    return (policy, encoded) => {
      const { name, keyspace } = policy.follows ?? policy
      const own = record?.settings.get(name)
      return own && resolveSettings(own, this.clock, keyspace?.name ?? name, encoded)
    }
  }
}
