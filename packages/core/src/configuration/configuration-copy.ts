import type { Clock } from '../clock.ts'
import type { Records } from '../limiter/records.ts'
import type { PolicySettings, SettingsLookup } from '../limiter/resolve.ts'
import type { RecordField } from '../stores/store.ts'
import type { EntrySettings } from './settings.ts'
import {
  parseDocument,
  parseConfiguration,
  settingKey,
  type Configuration,
  type Report,
} from './document.ts'
import { documentSize, type ConfigurationSize } from './document-size.ts'
import { SettingsCopy } from './settings-copy.ts'
import { mergeSettings, resolveSettings, type ConfigurablePolicies } from './settings.ts'

/** The extension's name. */
export const CONFIGURATION = 'configuration'

/** One version of the configuration. */
interface LoadedConfiguration {
  readonly version: string | undefined
  readonly configuration: Configuration
}

/** The configuration as one isolate knows it. */
export class ConfigurationCopy extends SettingsCopy<LoadedConfiguration> {
  readonly records: Records
  readonly policies: ConfigurablePolicies
  /** Beside the version, which is new with each change, its hash has the document. */
  readonly settingsField: RecordField
  /** A third field, which no decision reads: what has changed. */
  readonly historyField: RecordField
  readonly report: Report
  readonly #onAlmostFull: (size: ConfigurationSize) => void

  constructor(
    { records, clock }: { readonly records: Records; readonly clock: Clock },
    key: string,
    policies: ConfigurablePolicies,
    report: Report,
    onAlmostFull: (size: ConfigurationSize) => void,
  ) {
    super(clock, { key, field: 'version' })
    this.records = records
    this.policies = policies
    this.settingsField = { key, field: 'settings' }
    this.historyField = { key, field: 'history' }
    this.report = report
    this.#onAlmostFull = onAlmostFull
  }

  /** Reads the configuration from the store. @throws StoreError */
  async read(startedAt?: number): Promise<LoadedConfiguration> {
    const fields = [this.versionField, this.settingsField]
    const [version, text] = await this.records.read(fields, startedAt)
    const entries = parseDocument(text, this.report)
    const size = documentSize(entries)
    if (size.isAlmostFull) this.#onAlmostFull(size)
    return { version, configuration: await parseConfiguration(entries, this.policies, this.report) }
  }

  protected settingsOf(loaded: LoadedConfiguration | undefined): SettingsLookup {
    return (policy, partition) => {
      const { name, keyspace } = policy.follows ?? policy
      const resolve = (entry: EntrySettings | undefined): PolicySettings | undefined =>
        entry && resolveSettings(entry, this.clock, keyspace?.name ?? name, partition)
      return mergeSettings(
        resolve(loaded?.configuration.get(settingKey(name, partition))),
        resolve(loaded?.configuration.get(settingKey(name))),
      )
    }
  }
}
