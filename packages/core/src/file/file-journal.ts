/*
 * The file of one folder. Each line is a change; the first is a snapshot once there is one. A new snapshot is written
 * beside it and renamed, so that it replaces all lines in one step.
 */
import { appendFile, rename, rm, writeFile } from 'node:fs/promises'
import { readFileSync, truncateSync } from 'node:fs'
import type { ChangeJournal, StoredChanges } from '../journal/place-states.ts'

/** The mode of files: they name tenants. */
const OWNER_ONLY = 0o600

/** The fewest characters of changes between two snapshots. */
const LEAST_CHARACTERS = 1_000_000

export class FileJournal implements ChangeJournal {
  readonly #path: string
  #lines = ''
  #snapshot: string | undefined
  /** The lines that the snapshot has in it, and the file does not. */
  #replaced = ''
  #characters = 0
  #snapshotCharacters = 0
  #writing: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(path: string) {
    this.#path = path
  }

  get snapshotLength(): number {
    return this.#snapshotCharacters
  }

  get isLong(): boolean {
    return this.#characters > Math.max(LEAST_CHARACTERS, this.#snapshotCharacters)
  }

  load(): StoredChanges {
    const text = this.#read()
    // The process may have ended in the middle of a line, whose decision was then never answered.
    const end = text.lastIndexOf('\n') + 1
    if (end < text.length) truncateSync(this.#path, Buffer.byteLength(text.slice(0, end)))
    const changes = text.slice(0, end).split('\n').slice(0, -1)
    // A change begins with its time.
    const snapshot = changes[0]?.startsWith('[') ? changes.shift() : undefined
    if (!changes.every((line) => /^\d+ /.test(line))) throw new TypeError('No line of this store')
    this.#snapshotCharacters = snapshot?.length ?? 0
    this.#characters = end - this.#snapshotCharacters
    return { snapshot, changes }
  }

  append(change: string): void {
    this.#lines += `${change}\n`
    this.#characters += change.length
  }

  replace(snapshot: string): void {
    this.#snapshot = snapshot
    this.#replaced += this.#lines
    this.#lines = ''
    this.#characters = 0
    this.#snapshotCharacters = snapshot.length
  }

  /** Resolves once all changes until now are written: those of one turn, or of one write before, together. */
  saved(): Promise<void> {
    this.#next ??= this.#writeNext()
    return this.#next
  }

  async #writeNext(): Promise<void> {
    await (this.#writing ?? new Promise((resolve) => void setImmediate(resolve)))
    this.#writing = this.#next
    this.#next = undefined
    const [snapshot, replaced, lines] = [this.#snapshot, this.#replaced, this.#lines]
    this.#snapshot = undefined
    this.#replaced = ''
    this.#lines = ''
    const isReplaced = snapshot !== undefined && (await this.#replace(`${snapshot}\n${lines}`))
    if (!isReplaced) await appendFile(this.#path, replaced + lines, { mode: OWNER_ONLY })
    if (this.#next === undefined) this.#writing = undefined
  }

  /** Replaces all lines. Returns false if there is no room for both: the file then goes on as it is. */
  async #replace(text: string): Promise<boolean> {
    const beside = `${this.#path}.new`
    try {
      await rm(beside, { force: true })
      await writeFile(beside, text, { flag: 'wx', mode: OWNER_ONLY })
      await rename(beside, this.#path)
      return true
    } catch {
      // Appending tells what is wrong, unless that goes well.
      await rm(beside, { force: true }).catch(() => {})
      return false
    }
  }

  #read(): string {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
      throw error
    }
  }
}
