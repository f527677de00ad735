import type { RecordField } from '../stores/store.ts'
import { StoreError } from '../errors.ts'
import { randomId } from '../internal/random-id.ts'
import { pause } from '../internal/single-flight.ts'
import type { Records } from '../limiter/records.ts'

/** A document and its version. */
export interface Stored {
  readonly version: string | undefined
  readonly text: string | undefined
}

/** What is set when nothing is. */
const EMPTY = '[]'

/** How often a change is tried when others come first. */
const ATTEMPTS = 20

/** A document in the store: one field of a hash, and beside it a version that every change makes new. */
export class ConfigurationRecord {
  readonly #records: Records
  readonly version: RecordField
  readonly #settings: RecordField

  constructor(records: Records, name: string) {
    const key = `config:${name}`
    this.#records = records
    this.version = { key, field: 'version' }
    this.#settings = { key, field: 'settings' }
  }

  async read(startedAt?: number): Promise<Stored> {
    const [version, text] = await this.#records.read([this.version, this.#settings], startedAt)
    return { version, text }
  }

  /**
   * Replaces the text by what `edit` makes of it, whoever else does at the same time.
   *
   * @throws StoreError `store_conflict` When others come first each time.
   */
  async change(edit: (text: string | undefined) => string): Promise<void> {
    const { key, field } = this.#settings
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const { version, text } = await this.read()
      const edited = edit(text)
      if (edited === (text ?? EMPTY)) return
      const set = { [this.version.field]: randomId(), [field]: edited }
      if (await this.#records.write([{ key, set }], { ...this.version, is: version })) return
      // Apart, so that not all of them come back at once.
      await pause(Math.random() * 10 * attempt)
    }
    throw new StoreError('store_conflict', 'The configuration is being changed by too many at once')
  }
}
