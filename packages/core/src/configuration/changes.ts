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
  type Change,
  type ConfigurablePolicies,
  type ConfigurablePolicy,
  type SettingChanges,
} from './settings.ts'

/** Changes to settings, by policy; `null` removes all settings. */
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
  policies: ConfigurablePolicies,
): Promise<Change[]> {
  assertKnownOptions('configure', changes, [...policies.keys()])
  const valid: Change[] = []
  for (const [name, change] of Object.entries(changes)) {
    const option = `configure.${name}`
    const configurable = policies.get(name) as ConfigurablePolicy
    const { per } = configurable.policy
    if (change !== null) assertChanges(option, change, configurable, subject !== undefined)
    if (subject !== undefined && per === 'global') {
      const message = 'must be set without a subject: per "global" has one partition'
      throw new ConfigError('invalid_option', option, message)
    }
    if (subject !== undefined) await encodePartitionAsync(subject, per)
    valid.push({ configurable, subject, changes: change })
  }
  if (valid.length > 0) return valid
  throw new ConfigError('invalid_option', 'configure', 'must name at least one policy')
}

function assertChanges(
  option: string,
  changes: SettingChanges,
  configurable: ConfigurablePolicy,
  isPartition: boolean,
): void {
  assertKnownOptions(option, changes, configurable.allowed)
  const settings = changeSettings({}, changes, configurable)
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
      const text = editDocument(entries, changes)
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
function editDocument(entries: readonly unknown[], changes: readonly Change[]): string {
  const edited = changes.reduce(editEntries, entries)
  const text = JSON.stringify(edited)
  const partitions = edited.filter((entry) => (entry as StoredEntry)?.subject)
  if (partitions.length <= MAX_PARTITIONS && text.length <= MAX_CHARACTERS) return text
  const most = `${MAX_PARTITIONS} partitions and ${MAX_CHARACTERS} characters`
  throw new ConfigError('configuration_full', 'configure', `must not set more than ${most} in all`)
}

/** Makes one change. Other entries and settings stay, valid or not: another version of the app may use them. */
function editEntries(
  entries: readonly unknown[],
  { configurable, subject, changes }: Change,
): unknown[] {
  const { policy } = configurable
  const partition = subject && dimensionsOf(subject, policy.per)
  const isChanged = (entry: unknown): boolean =>
    (entry as StoredEntry)?.policy === policy.name &&
    sortedText((entry as StoredEntry)?.subject) === sortedText(partition)
  // The last of several is in force.
  const found = entries.findLastIndex(isChanged)
  const index = found < 0 ? entries.length : found
  const settings = changeSettings((entries[index] as StoredEntry)?.settings, changes, configurable)
  const changed = { policy: policy.name, ...(partition && { subject: partition }), settings }
  return entries.toSpliced(index, 1, ...(Object.keys(settings).length === 0 ? [] : [changed]))
}

/** An entry of the document, which may be anything. */
type StoredEntry = Partial<ConfigurationEntry> | null | undefined

/** Returns the same text for the same dimensions, whatever their order. */
function sortedText(subject: ConfigurationEntry['subject'] | null): string {
  return subject ? JSON.stringify(subject, Object.keys(subject).toSorted()) : ''
}
