import type { Clock } from '../clock.ts'
import type { Contribution } from '../limiter/extensions.ts'
import type { Records } from '../limiter/records.ts'
import type { PolicySettings, SettingsLookup } from '../limiter/resolve.ts'
import type { RecordField } from '../stores/store.ts'
import type { EntrySettings } from './settings.ts'
import { clockMovedBack, FRESH_MS } from '../internal/freshness.ts'
import { singleFlight } from '../internal/single-flight.ts'
import {
  parseDocument,
  parseConfiguration,
  settingKey,
  type Configuration,
  type Report,
} from './document.ts'
import { documentSize, type ConfigurationSize } from './document-size.ts'
import { mergeSettings, resolveSettings, type ConfigurablePolicies } from './settings.ts'

/** The extension's name. */
export const CONFIGURATION = 'configuration'

/** One version of the configuration. */
interface LoadedConfiguration {
  readonly version: string | undefined
  readonly configuration: Configuration
}

/**
 * The configuration as one isolate knows it, in one of four states:
 *
 * - unknown, before the first load: the next decision loads it;
 * - fresh, for 5 seconds from a read: decisions rely on it;
 * - stale, after that: the next decision relies on it too, if the store still has its version;
 * - outdated, when the versions differ or this isolate has made a change: the next decision loads it.
 */
export class ConfigurationCache {
  readonly records: Records
  readonly policies: ConfigurablePolicies
  readonly clock: Clock
  /** Two fields of one hash: the document, and a version that is new with each change. */
  readonly settingsField: RecordField
  readonly versionField: RecordField
  /** A third field, which no decision reads: what has changed. */
  readonly historyField: RecordField
  readonly report: Report
  readonly #onAlmostFull: (size: ConfigurationSize) => void
  readonly #loadOnce: (startedAt: number) => Promise<LoadedConfiguration>
  #latest: LoadedConfiguration | undefined
  #isOutdated = false
  #freshUntil = 0
  /** The number of changes that this isolate has made. */
  #changes = 0

  constructor(
    { records, clock }: { readonly records: Records; readonly clock: Clock },
    key: string,
    policies: ConfigurablePolicies,
    report: Report,
    onAlmostFull: (size: ConfigurationSize) => void,
  ) {
    this.records = records
    this.policies = policies
    this.settingsField = { key, field: 'settings' }
    this.versionField = { key, field: 'version' }
    this.historyField = { key, field: 'history' }
    this.clock = clock
    this.report = report
    this.#onAlmostFull = onAlmostFull
    this.#loadOnce = singleFlight(
      (startedAt: number) => this.#load(startedAt),
      () => this.#current,
    )
  }

  /**
   * Contributes the settings to a decision. Returns a promise only if they must be loaded.
   *
   * @param isRepeated True if the decision must not be stopped by a change.
   */
  contribute(startedAt: number, isRepeated: boolean): Contribution | Promise<Contribution> {
    const current = this.#current
    return current ? this.#contribution(current, isRepeated) : this.#loadAndContribute(startedAt)
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

  /** Makes the next decision load the configuration, because this isolate has changed it. */
  markOutdated(): void {
    this.#changes += 1
    this.#isOutdated = true
  }

  /** The loaded configuration, unless it is outdated. */
  get #current(): LoadedConfiguration | undefined {
    return this.#isOutdated ? undefined : this.#latest
  }

  async #loadAndContribute(startedAt: number): Promise<Contribution> {
    const lastKnown = this.#latest?.configuration
    try {
      return this.#contribution(await this.#loadOnce(startedAt), true)
    } catch (failure) {
      return { settings: this.#settingsOf(lastKnown), failure }
    }
  }

  async #load(startedAt: number): Promise<LoadedConfiguration> {
    const readAt = this.clock()
    const changes = this.#changes
    const loaded = await this.read(startedAt)
    // Otherwise it may lack a change that this isolate has made meanwhile.
    if (changes === this.#changes) {
      this.#latest = loaded
      this.#isOutdated = false
      this.#freshUntil = readAt + FRESH_MS
    }
    return loaded
  }

  /** Contributes `loaded`. Unless it is fresh, the store's version is read with the decision. */
  #contribution(loaded: LoadedConfiguration, isRepeated: boolean): Contribution {
    const readAt = this.clock()
    const settings = this.#settingsOf(loaded.configuration)
    const isFresh = readAt < this.#freshUntil && !clockMovedBack(this.#freshUntil, readAt)
    if (isFresh && loaded === this.#current) return { settings }
    const update = (version: string | undefined): boolean => {
      const isOutdated = version !== loaded.version
      if (loaded === this.#current) {
        this.#isOutdated = isOutdated
        const freshUntil = clockMovedBack(this.#freshUntil, this.clock()) ? 0 : this.#freshUntil
        this.#freshUntil = Math.max(freshUntil, readAt + FRESH_MS)
      }
      return isOutdated
    }
    const is = isRepeated ? undefined : (loaded.version ?? '')
    const field = { ...this.versionField, is }
    return { settings, reads: [{ field, update }] }
  }

  #settingsOf(configuration: Configuration | undefined): SettingsLookup {
    return (policy, partition) => {
      const { name, keyspace } = policy.follows ?? policy
      const resolve = (entry: EntrySettings | undefined): PolicySettings | undefined =>
        entry && resolveSettings(entry, this.clock, keyspace?.name ?? name, partition)
      return mergeSettings(
        resolve(configuration?.get(settingKey(name, partition))),
        resolve(configuration?.get(settingKey(name))),
      )
    }
  }
}
