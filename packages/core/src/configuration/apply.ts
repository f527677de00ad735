/* Limits as code: the settings that a file states, and what has changed. */
import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import type { ConfigurationHandle } from './runtime-configuration.ts'
import { assertKnownOptions, assertOptions, invalidOption } from '../internal/validation.ts'
import { editDocument, parseChanges, readDocument } from './changes.ts'
import { handleOf } from './configure.ts'
import {
  assertAuthor,
  pastChanges,
  type Author,
  type EntryChange,
  type HistoryEntry,
  type PastChange,
} from './history.ts'
import type { Change, ConfigurablePolicy, Settings } from './settings.ts'
import { documentText } from './document-size.ts'
import { changesBetween, editEntries, entryKey, withoutEnded } from './stored-entries.ts'

/** Settings that a policy, or one of its partitions, shall have. */
export interface DesiredEntry {
  readonly policy: string
  /** The dimensions of the partition. @default the whole policy */
  readonly subject?: Readonly<Record<string, string>> | undefined
  readonly settings: Settings
}

/** The changes that a list of settings would make, and the version of the settings before. */
export interface ConfigurationDifference {
  /** The version that was looked at; empty if nothing has been configured yet. */
  readonly version: string
  readonly changes: readonly EntryChange[]
}

/** Options of `applyConfiguration`. */
export interface ApplyOptions extends Author {
  /** The version that `compareConfiguration` has looked at. @default any */
  readonly version?: string
}

/**
 * Compares settings with those in the store: what `applyConfiguration` would change.
 *
 * @throws ConfigError When a setting may not be changed, or a value is out of range.
 * @throws StoreError When the store fails.
 * @example
 * const { version, changes } = await compareConfiguration(limiter, [{ policy: 'rpm', settings: { limit: 30 } }])
 */
export async function compareConfiguration(
  limiter: Limiter,
  desired: readonly DesiredEntry[],
): Promise<ConfigurationDifference> {
  const { cache } = handleOf(limiter)
  const edit = await editTo(desired, handleOf(limiter))
  const { version = '', entries } = await readDocument(cache)
  const current = withoutEnded(entries, cache.clock())
  const edited = edit(current)
  documentText(edited)
  return { version, changes: changesBetween(current, edited) }
}

/**
 * Makes the settings in the store those of a list, in one step: others of the policies that `runtimeConfiguration`
 * allows are removed. Temporary changes stay until their end. Returns what has changed; `undefined` if nothing has.
 *
 * @throws ConfigError As `compareConfiguration` does, and `configuration_full`.
 * @throws StoreError `store_conflict` when somebody has changed the settings since `version`; or when the store fails.
 * @example
 * await applyConfiguration(limiter, [{ policy: 'rpm', settings: { limit: 30 } }], { version, by: 'ann' })
 */
export async function applyConfiguration(
  limiter: Limiter,
  desired: readonly DesiredEntry[],
  options: ApplyOptions = {},
): Promise<HistoryEntry | undefined> {
  const { version } = options
  const author = assertAuthor('applyConfiguration', options, ['version'])
  const handle = handleOf(limiter)
  const edit = await editTo(desired, handle)
  return editDocument(handle.cache, { edit, author, version })
}

/**
 * Reads what has changed in the configuration, the newest first: at most 100 changes. Those in records of partitions
 * are not among them.
 *
 * @throws StoreError When the store fails.
 * @example
 * const [latest] = await readHistory(limiter)
 */
export async function readHistory(limiter: Limiter): Promise<readonly PastChange[]> {
  const { history } = await readDocument(handleOf(limiter).cache)
  return pastChanges(history).toReversed()
}

/** Returns the function that makes entries those of a list. @throws ConfigError When the list is invalid. */
async function editTo(
  desired: readonly DesiredEntry[],
  { cache, partitions }: ConfigurationHandle,
): Promise<(entries: readonly unknown[]) => unknown[]> {
  if (!Array.isArray(desired)) {
    throw invalidOption('configuration', 'must be a list of settings')
  }
  const changes = new Map<string, Change>()
  for (const [index, entry] of (desired as readonly DesiredEntry[]).entries()) {
    const path = `configuration[${index}]`
    assertKnownOptions(path, entry, ['policy', 'subject', 'settings'])
    const { policy, subject, settings } = entry
    if (subject && partitions) {
      const message = 'must be set by configure: each partition has a record of its own'
      throw invalidOption(`${path}.subject`, message)
    }
    if (typeof policy !== 'string') {
      throw invalidOption(`${path}.policy`, 'must be the name of a policy')
    }
    assertOptions(`${path}.settings`, settings)
    if ('until' in settings) {
      const rule =
        'must be left out: a list states what lasts. Set it by configure, or by sluice raise'
      throw invalidOption(`${path}.settings.until`, rule)
    }
    const per = cache.policies.get(policy)?.policy.per
    const lacking = subject && per !== 'global' && per?.find((name) => subject[name] === undefined)
    if (lacking) {
      throw invalidOption(`${path}.subject`, `must name "${lacking}", which "${policy}" counts by`)
    }
    const [change] = await parseChanges({ [policy]: { ...settings } }, subject, cache)
    if (!change) continue
    assertPartition(path, change.configurable, subject)
    const key = entryKey(policy, subject)
    if (changes.has(key)) {
      throw invalidOption(path, `must not set "${policy}" a second time`)
    }
    const lasting = { ...nothingOf(change.configurable), ...change.lasting }
    changes.set(key, { ...change, lasting })
  }
  return (entries) => {
    const others = entries.flatMap((entry) => {
      const { policy = '', subject } = (entry ?? {}) as Partial<DesiredEntry>
      const configurable = cache.policies.get(policy)
      if (!configurable || changes.has(entryKey(policy, subject))) return []
      return [{ configurable, subject, lasting: nothingOf(configurable), temporary: undefined }]
    })
    return [...others, ...changes.values()].reduce(editEntries, [...entries])
  }
}

function assertPartition(
  path: string,
  { policy: { per } }: ConfigurablePolicy,
  subject: Subject | undefined,
): void {
  if (subject && per !== 'global') assertKnownOptions(`${path}.subject`, subject, per)
}

/** Removes each setting that may be changed. */
const nothingOf = ({ allowed }: ConfigurablePolicy): Readonly<Record<string, null>> =>
  Object.fromEntries(allowed.map((setting) => [setting, null]))
