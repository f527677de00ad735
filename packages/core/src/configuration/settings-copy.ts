import type { Clock } from '../clock.ts'
import type { Contribution } from '../limiter/extensions.ts'
import type { SettingsLookup } from '../limiter/resolve.ts'
import type { RecordField } from '../stores/store.ts'
import { singleFlight } from '../internal/single-flight.ts'
import { StoredCopy } from '../internal/stored-copy.ts'

/** A version of stored settings. */
interface LoadedSettings {
  readonly version: string | undefined
}

/** Stored settings as an isolate knows them, which contribute to its decisions. */
export abstract class SettingsCopy<Loaded extends LoadedSettings> {
  readonly clock: Clock
  /** The field of the version, which decisions read along. */
  readonly versionField: RecordField
  #copy: StoredCopy<Loaded>
  readonly #loadOnce = singleFlight(
    async (startedAt: number) => {
      const copy = this.#copy
      const readAt = this.clock()
      const loaded = await this.read(startedAt)
      copy.update(loaded, readAt)
      return loaded
    },
    () => this.#copy.current,
  )

  constructor(clock: Clock, versionField: RecordField) {
    this.clock = clock
    this.versionField = versionField
    this.#copy = new StoredCopy(clock)
  }

  /** Reads the settings from the store. @throws StoreError */
  abstract read(startedAt?: number): Promise<Loaded>

  protected abstract settingsOf(loaded: Loaded | undefined): SettingsLookup

  /** Returns the settings of a version. @default they have to be read */
  protected parse?(version: string | undefined): Loaded

  /**
   * Contributes the settings to a decision. Returns a promise only if they must be loaded.
   *
   * @param isRepeated True if the decision must not be stopped by a change.
   */
  contribute(startedAt: number, isRepeated: boolean): Contribution | Promise<Contribution> {
    const { current } = this.#copy
    if (current) return this.#contribution(current, isRepeated)
    return this.#loadOnce(startedAt).then(
      (loaded) => this.#contribution(loaded, true),
      (failure: unknown) => ({ settings: this.settingsOf(this.#copy.latest), failure }),
    )
  }

  /** Makes the next decision load the settings, because this isolate has changed them. */
  markOutdated(): void {
    this.#copy = new StoredCopy(this.clock, this.#copy.latest)
  }

  /** Contributes `loaded`. Unless it is fresh, the store's version is read with the decision. */
  #contribution(loaded: Loaded, isRepeated: boolean): Contribution {
    const copy = this.#copy
    const settings = this.settingsOf(loaded)
    if (loaded === copy.current && copy.isFresh()) return { settings }
    const readAt = this.clock()
    const update = (version: string | undefined): boolean => {
      const { current } = copy
      if (current && current.version === version) copy.update(current, readAt)
      else if (this.parse) copy.update(this.parse(version), readAt)
      else if (current === loaded) copy.expire()
      return version !== loaded.version
    }
    const is = isRepeated ? undefined : (loaded.version ?? '')
    return { settings, reads: [{ field: { ...this.versionField, is }, update }] }
  }
}
