import type { ConfigurationCopy } from './configuration-copy.ts'
import { StoreError } from '../errors.ts'
import { randomId } from '../internal/random-id.ts'
import { assertKnownOptions, invalidOption } from '../internal/validation.ts'
import { encodePartitionAsync, type Subject } from '../subject.ts'
import { parseDocument } from './document.ts'
import { documentText } from './document-size.ts'
import { historyText, parseHistory, type Author, type HistoryEntry } from './history.ts'
import { retryWrite } from '../limiter/retry-write.ts'
import {
  assertSettings,
  removeAll,
  type Change,
  type ConfigurablePolicy,
  type SettingChanges,
} from './settings.ts'
import { changesBetween, editEntries, withoutEnded } from './stored-entries.ts'
import { assertUntil } from './temporary.ts'

/** Changes to settings, by policy; `null` removes all settings, temporary ones too. */
export type ConfigurationChanges = Readonly<Record<string, SettingChanges | null>>

/**
 * Validates all changes before any of them is made.
 *
 * @throws ConfigError When a setting may not be changed, or a value is out of range.
 * @throws InputError When `subject` lacks a dimension of one of the policies.
 */
export async function parseChanges(
  changes: ConfigurationChanges,
  subject: Subject | undefined,
  { policies, clock }: Pick<ConfigurationCopy, 'policies' | 'clock'>,
): Promise<Change[]> {
  assertKnownOptions('configure', changes, [...policies.keys()])
  const valid: Change[] = []
  for (const [name, change] of Object.entries(changes)) {
    const option = `configure.${name}`
    const configurable = policies.get(name) as ConfigurablePolicy
    const { per } = configurable.policy
    const parsed =
      change === null
        ? removeAll(configurable, subject)
        : parseChange(option, change, configurable, subject, clock())
    if (subject !== undefined && per === 'global') {
      throw invalidOption(option, 'must be set without a subject: per "global" has one partition')
    }
    if (subject !== undefined) await encodePartitionAsync(subject, per)
    valid.push(parsed)
  }
  if (valid.length > 0) return valid
  throw invalidOption('configure', 'must name at least one policy')
}

function parseChange(
  option: string,
  changes: SettingChanges,
  configurable: ConfigurablePolicy,
  subject: Subject | undefined,
  now: number,
): Change {
  assertKnownOptions(option, changes, [...configurable.allowed, 'until'])
  const { until, ...settings } = changes
  const defined = Object.entries(settings).filter(([, value]) => value !== undefined)
  const values = Object.fromEntries(defined.filter(([, value]) => value !== null))
  assertNewSettings(option, values, configurable, subject !== undefined)
  // An end that is `undefined` by mistake must not make a change last.
  const isEnded = until === null
  if (isEnded || !('until' in changes)) {
    const lasting = Object.fromEntries(defined)
    return { configurable, subject, lasting, temporary: isEnded ? null : undefined }
  }
  const end = assertUntil(`${option}.until`, until, now)
  const removed = defined.find(([, value]) => value === null)?.[0]
  if (removed !== undefined) {
    const message = 'must have a value until then: only a lasting change removes a setting'
    throw invalidOption(`${option}.${removed}`, message)
  }
  if (defined.length === 0) {
    const message = `must set at least one of "${configurable.allowed.join('", "')}" until then`
    throw invalidOption(option, message)
  }
  const temporary = { ...values, until: new Date(end).toJSON() }
  return { configurable, subject, lasting: {}, temporary }
}

function assertNewSettings(
  option: string,
  settings: object,
  configurable: ConfigurablePolicy,
  isPartition: boolean,
): void {
  const { mode, enforced } = assertSettings(option, settings, configurable, isPartition)
  if (mode !== 'shadow' || enforced === undefined) return
  const message = 'must be left out in mode "shadow", which enforces nothing'
  throw invalidOption(`${option}.enforced`, message)
}

/** A document in the store: the fields of one hash, of which the version is new with each change. */
export type StoredDocument = Pick<
  ConfigurationCopy,
  | 'records'
  | 'clock'
  | 'settingsField'
  | 'versionField'
  | 'historyField'
  | 'report'
  | 'markOutdated'
>

/** A change of the document. */
interface Edit {
  /** Returns the entries as they shall be. Called again if others were faster. @throws ConfigError */
  readonly edit: (entries: readonly unknown[], history: readonly HistoryEntry[]) => unknown[]
  readonly author?: Author | undefined
  /** The version that it is made for. @default any */
  readonly version?: string | undefined
  /** The version whose change it takes back. */
  readonly undoes?: () => string
}

/**
 * Makes changes in the store. A change that others make at the same time is not lost.
 *
 * @throws ConfigError `configuration_full` When the document would be too large.
 * @throws StoreError `store_conflict` When others are faster each time.
 */
export async function makeChanges(
  cache: ConfigurationCopy,
  changes: readonly Change[],
  author?: Author,
): Promise<void> {
  await editDocument(cache, {
    edit: (entries) => changes.reduce(editEntries, [...entries]),
    author,
  })
}

/**
 * Checks that changes would fit into the document, as `makeChanges` does.
 *
 * @throws ConfigError `configuration_full`
 * @throws StoreError When the store fails.
 */
export async function assertFits(
  cache: ConfigurationCopy,
  changes: readonly Change[],
): Promise<void> {
  const { entries } = await readDocument(cache)
  documentText(changes.reduce(editEntries, withoutEnded(entries, cache.clock())))
}

/**
 * Edits the document, and adds what differs to its history, in one step. Returns `undefined` if nothing does.
 *
 * @throws ConfigError `configuration_full` When the document would be too large.
 * @throws StoreError `store_conflict` When others are faster each time, or it is for another version.
 */
export async function editDocument(
  cache: StoredDocument,
  { edit, author, version: expected, undoes }: Edit,
): Promise<HistoryEntry | undefined> {
  const { records, settingsField, versionField, historyField } = cache
  let made: HistoryEntry | undefined
  try {
    await retryWrite(async () => {
      const { version, entries, history } = await readDocument(cache)
      if (expected !== undefined && expected !== (version ?? '')) throw changedMeanwhile()
      const now = cache.clock()
      const current = withoutEnded(entries, now)
      const edited = edit(current, history)
      const text = documentText(edited)
      made = undefined
      if (text === JSON.stringify(entries)) return true
      const entry: HistoryEntry = {
        version: randomId(),
        at: now,
        ...author,
        changes: changesBetween(current, edited),
        ...(undoes && { undoes: undoes() }),
      }
      const set = { [versionField.field]: entry.version, [settingsField.field]: text }
      if (entry.changes.length > 0) set[historyField.field] = historyText(history, entry)
      const isWritten = await records.write([{ key: versionField.key, set }], {
        ...versionField,
        is: version,
      })
      if (isWritten && entry.changes.length > 0) made = entry
      return isWritten
    })
    return made
  } finally {
    // Even after a failure: the change may have been made.
    cache.markOutdated()
  }
}

/** Reads the document, valid or not, and what has changed in it. @throws StoreError */
export async function readDocument({
  records,
  versionField,
  settingsField,
  historyField,
  report,
}: StoredDocument): Promise<{
  readonly version: string | undefined
  readonly entries: readonly unknown[]
  readonly history: readonly HistoryEntry[]
}> {
  const [version, text, history] = await records.read([versionField, settingsField, historyField])
  return { version, entries: parseDocument(text, report), history: parseHistory(history) }
}

const changedMeanwhile = (): StoreError =>
  new StoreError(
    'store_conflict',
    'Somebody has changed the configuration since this version: look at it again',
  )
