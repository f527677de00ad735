/* The changes of the document of settings: kept beside it, in the field `history`, the newest last. */

import { assertKnownOptions, invalidOption } from '../internal/validation.ts'
import { parseJson } from '../internal/attempt.ts'

/** The author of a change, and the reason: for `readHistory`. */
export interface Author {
  /** A name, such as that of an operator. At most 100 characters. */
  readonly by?: string
  /** The reason. At most 500 characters. */
  readonly note?: string
}

/** The settings of a policy, or of one of its partitions, before and after a change. */
export interface EntryChange {
  readonly policy: string
  /** The dimensions of the partition; `undefined` for the whole policy. */
  readonly subject: Readonly<Record<string, string>> | undefined
  /** As they are stored; `undefined` if there were none. A temporary change is in `temporary`. */
  readonly from: Readonly<Record<string, unknown>> | undefined
  readonly to: Readonly<Record<string, unknown>> | undefined
}

/** A change of the configuration. */
export interface HistoryEntry extends Author {
  /** The version that it has made. */
  readonly version: string
  /** In milliseconds since the Unix epoch. */
  readonly at: number
  readonly changes: readonly EntryChange[]
  /** The version whose change it has taken back. */
  readonly undoes?: string
}

/** A change of the configuration, as `readHistory` returns it. */
export interface PastChange extends HistoryEntry {
  /** The version that has taken it back. */
  readonly undoneBy?: string
}

const MOST = { by: 100, note: 500 } as const

/** Returns who makes a change. @throws ConfigError When a text is none, or too long. */
export function assertAuthor(
  option: string,
  author: Author,
  others: readonly string[] = [],
): Author {
  assertKnownOptions(option, author, [...Object.keys(MOST), ...others])
  const texts = Object.entries(MOST).flatMap(([name, most]) => {
    const text: unknown = author[name as keyof Author]
    if (text === undefined) return []
    if (typeof text === 'string' && text !== '' && text.length <= most)
      return [[name, text] as const]
    throw invalidOption(`${option}.${name}`, `must be a text of 1 to ${most} characters`)
  })
  return Object.fromEntries(texts)
}

/** The most changes that are kept. */
const MAX_ENTRIES = 100
const MAX_CHARACTERS = 100_000

/** Parses a stored history, the newest last. Entries of an unknown form are left out. */
export function parseHistory(text: string | undefined): readonly HistoryEntry[] {
  const stored = parseJson(text ?? '[]')
  return Array.isArray(stored) ? stored.filter(isEntry) : []
}

const isEntry = (stored: Partial<HistoryEntry> | null): stored is HistoryEntry =>
  typeof stored?.version === 'string' &&
  typeof stored.at === 'number' &&
  Array.isArray(stored.changes)

/** Returns the text of a history with a new entry. The oldest ones make room. */
export function historyText(history: readonly HistoryEntry[], entry: HistoryEntry): string {
  const texts = [...history, entry].slice(-MAX_ENTRIES).map((one) => JSON.stringify(one))
  let length = texts.reduce((sum, text) => sum + text.length + 1, 1)
  while (length > MAX_CHARACTERS && texts.length > 1) length -= (texts.shift()?.length ?? 0) + 1
  return `[${texts.join()}]`
}

/** Returns each change with what has taken it back. */
export function pastChanges(history: readonly HistoryEntry[]): readonly PastChange[] {
  const undone = new Map(
    history.flatMap(({ undoes, version }) => (undoes === undefined ? [] : [[undoes, version]])),
  )
  return history.map((entry) => {
    const undoneBy = undone.get(entry.version)
    return undoneBy === undefined ? entry : { ...entry, undoneBy }
  })
}

/** Returns the changes that are not taken back, and take none back, the newest first. */
export const changesToUndo = (history: readonly HistoryEntry[]): readonly HistoryEntry[] =>
  pastChanges(history)
    .filter(({ undoes, undoneBy }) => undoes === undefined && undoneBy === undefined)
    .toReversed()
