/*
 * The storage of one object: a snapshot of its states, and a journal of what has changed them since.
 *
 * Each change is one row, and each row costs the same whatever it changes. When the journal is longer than the
 * snapshot, a new snapshot takes its place, and the rows are written over. So a change costs one row and a few
 * thousandths, and nothing is deleted by itself. A row begins with the number of its snapshot: those of earlier ones are void.
 */
import type { ChangeJournal, StoredChanges } from '@sluice/core/internal/journal'

/** The part of an object's SQLite storage that a journal uses. */
export interface RowStorage {
  exec(query: string, ...bindings: (string | number)[]): { toArray(): Record<string, unknown>[] }
}

/** The most characters of a row. It may have 2 MB, and a character may take three bytes. */
export const MAX_CHARACTERS = 500_000

/** The most characters of a call: an object has 128 MB of memory. The largest puts a balance with its 10,000 ids. */
export const MAX_CALL = 8_000_000

/** The fewest changes between two snapshots: their rows are so many times as rare. */
const LEAST_CHANGES = 256

const TABLE = 'sluice_journal'

/** Changes have the ids from 0 on, and the parts of the snapshot -1, -2, … */
export class ObjectJournal implements ChangeJournal {
  readonly #sql: RowStorage
  readonly #onFirstRow: () => void
  #snapshot = 0
  #changes = 0
  #characters = 0
  #snapshotCharacters = 0
  #hasTable = false

  /** @param onFirstRow Called in the step that stores the first row. */
  constructor(sql: RowStorage, onFirstRow: () => void = () => {}) {
    this.#sql = sql
    this.#onFirstRow = onFirstRow
  }

  /** The number of characters of the snapshot. */
  get snapshotLength(): number {
    return this.#snapshotCharacters
  }

  /** True if it is time for a snapshot. */
  get isLong(): boolean {
    return this.#changes >= LEAST_CHANGES && this.#characters >= this.#snapshotCharacters
  }

  /** Begins anew, once its rows are deleted. */
  forget(): void {
    this.#snapshot = 0
    this.#changes = 0
    this.#characters = 0
    this.#snapshotCharacters = 0
    this.#hasTable = false
  }

  load(): StoredChanges {
    const tables = this.#sql.exec('SELECT name FROM sqlite_master WHERE name = ?', TABLE)
    this.#hasTable = tables.toArray().length > 0
    if (!this.#hasTable) return { snapshot: undefined, changes: [] }
    const rows = this.#sql.exec(`SELECT id, data FROM ${TABLE} ORDER BY id`).toArray().map(parseRow)
    this.#snapshot = Math.max(0, ...rows.filter(({ id }) => id < 0).map(({ snapshot }) => snapshot))
    const current = rows.filter(({ snapshot }) => snapshot === this.#snapshot)
    const parts = current.filter(({ id }) => id < 0).toReversed()
    const changes = current.filter(({ id }) => id >= 0).map(({ text }) => text)
    const snapshot = parts[0] && parts.map(({ text }) => text).join('')
    this.#changes = changes.length
    this.#characters = changes.join('').length
    this.#snapshotCharacters = snapshot?.length ?? 0
    return { snapshot, changes }
  }

  /** Adds a change. One that is longer than a row is left to a snapshot, for which it is then time. */
  append(change: string): void {
    if (change.length > MAX_CHARACTERS) this.#changes = this.#characters = Infinity
    else this.#write(this.#changes, change)
    this.#changes += 1
    this.#characters += change.length
  }

  /** Replaces everything by a snapshot. */
  replace(snapshot: string): void {
    this.#snapshot += 1
    let id = 0
    for (let start = 0; start < snapshot.length || id === 0;) {
      const end = endOfPart(snapshot, start)
      id -= 1
      this.#write(id, snapshot.slice(start, end))
      start = end
    }
    this.#changes = 0
    this.#characters = 0
    this.#snapshotCharacters = snapshot.length
  }

  #write(id: number, text: string): void {
    if (!this.#hasTable) {
      this.#sql.exec(`CREATE TABLE ${TABLE} (id INTEGER PRIMARY KEY, data TEXT)`)
      this.#hasTable = true
      this.#onFirstRow()
    }
    this.#sql.exec(`INSERT OR REPLACE INTO ${TABLE} VALUES (?, ?)`, id, `${this.#snapshot} ${text}`)
  }
}

interface Row {
  readonly id: number
  readonly snapshot: number
  readonly text: string
}

function parseRow({ id, data }: Record<string, unknown>): Row {
  const row = String(data)
  const space = row.indexOf(' ')
  return { id: Number(id), snapshot: Number(row.slice(0, space)), text: row.slice(space + 1) }
}

/** Returns the end of the part that begins at `start`. It does not cut a character in two. */
function endOfPart(text: string, start: number): number {
  const end = Math.min(start + MAX_CHARACTERS, text.length)
  const isCut = end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))
  return isCut ? end - 1 : end
}
