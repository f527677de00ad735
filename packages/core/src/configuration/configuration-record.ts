import type { RecordField } from '../store.ts'
import { StoreError } from '../errors.ts'
import { randomId } from '../random-id.ts'
import { pause, readFields, type Lent } from '../watch.ts'

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
  readonly #lent: Lent
  readonly version: RecordField
  readonly #settings: RecordField

  constructor(lent: Lent, name: string) {
    const key = `config:${name}`
    this.#lent = lent
    this.version = { key, field: 'version' }
    this.#settings = { key, field: 'settings' }
  }

  async read(): Promise<Stored> {
    const [version, text] = await readFields(this.#lent, [this.version, this.#settings])
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
      if (await this.#lent.store.write([{ key, set }], { ...this.version, is: version })) return
      // Apart, so that not all of them come back at once.
      await pause(Math.random() * 10 * attempt)
    }
    throw new StoreError('store_conflict', 'The configuration is being changed by too many at once')
  }
}
