/* The entries of the document as they are stored: another version of the app may have written any of them. */
import type { ConfigurationEntry } from './document.ts'
import type { EntryChange } from './history.ts'
import { changeSettings, dimensionsOf, type Change } from './settings.ts'
import { removeEnded } from './temporary.ts'

/** An entry of the document, which may be anything. */
type StoredEntry = Partial<ConfigurationEntry> | null | undefined

type StoredSettings = Readonly<Record<string, unknown>>

/** Returns the entries without temporary settings that have ended, and without those that have no others. */
export function withoutEnded(entries: readonly unknown[], now: number): unknown[] {
  return entries.flatMap((entry): unknown[] => {
    const stored = entry as StoredEntry
    const settings = removeEnded(stored?.settings, now)
    if (settings === stored?.settings) return [entry]
    return settings === undefined ? [] : [{ ...stored, settings }]
  })
}

/** Makes one change. Other entries and settings stay, valid or not. */
export function editEntries(entries: readonly unknown[], change: Change): unknown[] {
  const { subject } = change
  const { policy } = change.configurable
  const partition = subject && dimensionsOf(subject, policy.per)
  const settings = changeSettings(settingsAt(entries, policy.name, partition), change)
  return putSettings(entries, policy.name, partition, settings)
}

/** Replaces the settings of one policy or partition. Empty ones, or none, remove the entry. */
export function putSettings(
  entries: readonly unknown[],
  policy: string,
  subject: Readonly<Record<string, string>> | undefined,
  settings: object | undefined,
): unknown[] {
  const found = indexOf(entries, policy, subject)
  const index = found < 0 ? entries.length : found
  const isEmpty = Object.keys(settings ?? {}).length === 0
  return entries.toSpliced(
    index,
    1,
    ...(isEmpty ? [] : [{ policy, ...(subject && { subject }), settings }]),
  )
}

/** Returns the stored settings of one policy or partition. */
export const settingsAt = (
  entries: readonly unknown[],
  policy: string,
  subject: Readonly<Record<string, string>> | undefined,
): StoredSettings | undefined =>
  (entries[indexOf(entries, policy, subject)] as StoredEntry)?.settings as
    StoredSettings | undefined

/** Returns what differs between two lists of entries. */
export function changesBetween(
  before: readonly unknown[],
  after: readonly unknown[],
): EntryChange[] {
  const [old, current] = [byKey(before), byKey(after)]
  return [...new Map([...old, ...current])].flatMap(([key, { policy, subject }]) => {
    const [from, to] = [old, current].map((entries) => entries.get(key)?.settings)
    return isSame(from, to) ? [] : [{ policy, subject, from, to }]
  })
}

interface NamedEntry {
  readonly policy: string
  readonly subject: ConfigurationEntry['subject']
  readonly settings: StoredSettings | undefined
}

/** Returns the entries that name a policy, by it and its partition. The last of several is in force. */
function byKey(entries: readonly unknown[]): Map<string, NamedEntry> {
  const named = (entries as readonly StoredEntry[]).flatMap((entry) => {
    if (typeof entry?.policy !== 'string') return []
    const { policy, subject, settings } = entry
    const stored = settings as StoredSettings | undefined
    return [[entryKey(policy, subject), { policy, subject, settings: stored }] as const]
  })
  return new Map(named)
}

/** Returns true if two settings are equal, whatever the order of their names. */
export const isSame = (a: unknown, b: unknown): boolean => textOf(a) === textOf(b)

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  ) ?? ''

/** Returns the index of the entry in force, which is the last of several; -1 if there is none. */
const indexOf = (
  entries: readonly unknown[],
  policy: string,
  subject: ConfigurationEntry['subject'],
): number =>
  entries.findLastIndex(
    (entry) =>
      (entry as StoredEntry)?.policy === policy &&
      sortedText((entry as StoredEntry)?.subject) === sortedText(subject),
  )

/** Identifies the settings of one policy or partition. */
export const entryKey = (policy: string, subject: ConfigurationEntry['subject']): string =>
  `${policy} ${sortedText(subject)}`

/** Returns the same text for the same dimensions, whatever their order. */
function sortedText(subject: ConfigurationEntry['subject'] | null): string {
  return subject ? JSON.stringify(subject, Object.keys(subject).toSorted()) : ''
}
