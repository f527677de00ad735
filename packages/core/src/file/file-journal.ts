/*
 * The file of one folder. Each line is a change; the first is a snapshot once there is one. A new snapshot is written
 * beside it and renamed, so that it replaces all lines in one step.
 */
import { appendFile, rename, writeFile } from 'node:fs/promises'
import { readFileSync, truncateSync } from 'node:fs'
import type { ChangeJournal, StoredChanges } from '../places/limits.ts'

/** The fewest characters of changes between two snapshots. */
const LEAST_CHARACTERS = 1_000_000

export class FileJournal implements ChangeJournal {
  readonly #path: string
  #lines = ''
  #snapshot: string | undefined
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
    const [snapshot, lines] = [this.#snapshot, this.#lines]
    this.#snapshot = undefined
    this.#lines = ''
    if (snapshot !== undefined) {
      const beside = `${this.#path}.new`
      await writeFile(beside, `${snapshot}\n${lines}`)
      await rename(beside, this.#path)
    } else {
      await appendFile(this.#path, lines)
    }
    if (this.#next === undefined) this.#writing = undefined
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
