import type { ConfigurationCache } from './configuration-cache.ts'
import type { ConfigurationEntry } from './document.ts'
import { ConfigError } from '../errors.ts'
import { randomId } from '../internal/random-id.ts'
import { assertKnownOptions } from '../internal/validation.ts'
import { encodePartitionAsync, type Subject } from '../subject.ts'
import { retryWrite } from './retry-write.ts'
import {
  assertSettings,
  changeSettings,
  dimensionsOf,
  removeAll,
  type Change,
  type ConfigurablePolicy,
  type SettingChanges,
} from './settings.ts'
import { assertUntil, removeEnded } from './temporary.ts'

/** Changes to settings, by policy; `null` removes all settings, temporary ones too. */
export type ConfigurationChanges = Readonly<Record<string, SettingChanges | null>>

/** The bounds of a document: each isolate loads all of it. */
const MAX_PARTITIONS = 1_000
const MAX_CHARACTERS = 500_000

/**
 * Validates all changes before any of them is made.
 *
 * @throws ConfigError When a setting may not be changed, or a value is out of range.
 * @throws InputError When `subject` lacks a dimension of one of the policies.
 */
export async function parseChanges(
  changes: ConfigurationChanges,
  subject: Subject | undefined,
  { policies, clock }: Pick<ConfigurationCache, 'policies' | 'clock'>,
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
      const message = 'must be set without a subject: per "global" has one partition'
      throw new ConfigError('invalid_option', option, message)
    }
    if (subject !== undefined) await encodePartitionAsync(subject, per)
    valid.push(parsed)
  }
  if (valid.length > 0) return valid
  throw new ConfigError('invalid_option', 'configure', 'must name at least one policy')
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
    throw new ConfigError('invalid_option', `${option}.${removed}`, message)
  }
  if (defined.length === 0) {
    const message = `must set at least one of "${configurable.allowed.join('", "')}" until then`
    throw new ConfigError('invalid_option', option, message)
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
  throw new ConfigError('invalid_option', `${option}.enforced`, message)
}

/**
 * Makes changes in the store. A change that others make at the same time is not lost.
 *
 * @throws ConfigError `configuration_full` When the document would be too large.
 * @throws StoreError `store_conflict` When others are faster each time.
 */
export async function makeChanges(
  cache: ConfigurationCache,
  changes: readonly Change[],
): Promise<void> {
  const { records, settingsField, versionField } = cache
  try {
    await retryWrite(async () => {
      const { version, entries } = await cache.readDocument()
      const text = editDocument(entries, changes, cache.clock())
      if (text === JSON.stringify(entries)) return true
      const set = { [versionField.field]: randomId(), [settingsField.field]: text }
      return records.write([{ key: versionField.key, set }], { ...versionField, is: version })
    })
  } finally {
    // Even after a failure: the change may have been made.
    cache.markOutdated()
  }
}

/** Returns the text of a document with changes. @throws ConfigError When it would be too large. */
function editDocument(
  entries: readonly unknown[],
  changes: readonly Change[],
  now: number,
): string {
  const current = entries.flatMap((entry) => withoutEnded(entry as StoredEntry, now))
  const edited = changes.reduce(editEntries, current)
  const text = JSON.stringify(edited)
  const partitions = edited.filter((entry) => (entry as StoredEntry)?.subject)
  if (partitions.length <= MAX_PARTITIONS && text.length <= MAX_CHARACTERS) return text
  const most = `${MAX_PARTITIONS} partitions and ${MAX_CHARACTERS} characters`
  throw new ConfigError('configuration_full', 'configure', `must not set more than ${most} in all`)
}

/** Returns an entry without temporary settings that have ended; nothing if it has no others. */
function withoutEnded(entry: StoredEntry, now: number): readonly unknown[] {
  const settings = removeEnded(entry?.settings, now)
  if (settings === entry?.settings) return [entry]
  return settings === undefined ? [] : [{ ...entry, settings }]
}

/** Makes one change. Other entries and settings stay, valid or not: another version of the app may use them. */
function editEntries(entries: readonly unknown[], change: Change): unknown[] {
  const { subject } = change
  const { policy } = change.configurable
  const partition = subject && dimensionsOf(subject, policy.per)
  const isChanged = (entry: unknown): boolean =>
    (entry as StoredEntry)?.policy === policy.name &&
    sortedText((entry as StoredEntry)?.subject) === sortedText(partition)
  // The last of several is in force.
  const found = entries.findLastIndex(isChanged)
  const index = found < 0 ? entries.length : found
  const settings = changeSettings((entries[index] as StoredEntry)?.settings, change)
  const changed = { policy: policy.name, ...(partition && { subject: partition }), settings }
  return entries.toSpliced(index, 1, ...(Object.keys(settings).length === 0 ? [] : [changed]))
}

/** An entry of the document, which may be anything. */
type StoredEntry = Partial<ConfigurationEntry> | null | undefined

/** Returns the same text for the same dimensions, whatever their order. */
function sortedText(subject: ConfigurationEntry['subject'] | null): string {
  return subject ? JSON.stringify(subject, Object.keys(subject).toSorted()) : ''
}
