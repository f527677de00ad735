import type { Limiter } from '../limiter/limiter.ts'
import type { ConfigurationHandle } from './runtime-configuration.ts'
import { assertSubject } from '../limiter/call.ts'
import { onRoutes, policiesToReset, type ResetOptions } from '../limiter/reset.ts'
import { extensionHandle, runtimeOf } from '../limiter/runtime.ts'
import { encodePartitionAsync, lacksDimension, type Subject } from '../subject.ts'
import {
  assertFits,
  makeChanges,
  parseChanges,
  readDocument,
  type ConfigurationChanges,
} from './changes.ts'
import { CONFIGURATION } from './configuration-copy.ts'
import { assertAuthor, type Author } from './history.ts'
import { settingKey, type ConfigurationEntry } from './document.ts'
import { documentSize, type ConfigurationSize } from './document-size.ts'
import { removeAll, type Change } from './settings.ts'
import { isCurrent } from './temporary.ts'

/**
 * Changes settings while the app runs: of whole policies, or, with a subject, of the partitions that it
 * falls in. A partition's settings take precedence over the policy's; `null` removes settings. With
 * `until`, a change ends at that time, by itself. Changes apply to the next request of this isolate, and
 * within 5 seconds to the others. If one change is invalid, none is made. All others are one step; with
 * `partitionRecords`, one for each record.
 *
 * @throws ConfigError When `runtimeConfiguration` does not allow a setting, or a value is out of range.
 * @throws InputError When the subject lacks a dimension of one of the policies.
 * @throws StoreError When the store fails. The changes may have been made; it is safe to repeat them.
 * @example
 * await configure(limiter, { rpm: { limit: 30 } })
 * await configure(limiter, { rpm: { limit: 5 } }, { tenant: 'acme' })
 * await configure(limiter, { rpm: { limit: 120, until: '2026-11-28T18:00Z' } }, { tenant: 'acme' })
 */
export async function configure(
  limiter: Limiter,
  changes: ConfigurationChanges,
  ...subject: [subject?: Subject]
): Promise<void> {
  await configureAs({}, limiter, changes, ...subject)
}

/**
 * Changes settings as `configure` does, and says who does it, and why: for `readHistory`.
 *
 * @throws ConfigError As `configure` does, and when a name or note is too long.
 * @throws InputError As `configure` does.
 * @throws StoreError As `configure` does.
 * @example
 * await configureAs({ by: 'ann', note: 'their launch' }, limiter, { rpm: { limit: 120 } }, { tenant: 'acme' })
 */
export async function configureAs(
  author: Author,
  limiter: Limiter,
  changes: ConfigurationChanges,
  ...subject: [subject?: Subject]
): Promise<void> {
  // A subject that is `undefined` by mistake must not set everyone's limits.
  if (subject.length > 0) assertSubject(subject[0])
  const by = assertAuthor('configureAs', author)
  const handle = handleOf(limiter)
  await makeAll(handle, await parseChanges(changes, subject[0], handle.cache), by)
}

/**
 * Checks changes as `configure` does, and makes none: to show an operator what would change.
 *
 * @throws ConfigError As `configure` does.
 * @throws InputError As `configure` does.
 * @throws StoreError When the store fails.
 * @example
 * await checkChanges(limiter, { rpm: { limit: 30 } })
 */
export async function checkChanges(
  limiter: Limiter,
  changes: ConfigurationChanges,
  ...subject: [subject?: Subject]
): Promise<void> {
  if (subject.length > 0) assertSubject(subject[0])
  const { cache, partitions } = handleOf(limiter)
  const parsed = await parseChanges(changes, subject[0], cache)
  if (!partitions || subject[0] === undefined) await assertFits(cache, parsed)
}

/**
 * Reads settings from the store: with a subject, those of the partitions that it falls in; otherwise those
 * of whole policies, and of all partitions that are not in `partitionRecords`.
 *
 * @throws InputError When the subject is malformed.
 * @throws StoreError When the store fails.
 * @example
 * const settings = await readConfiguration(limiter, { tenant: 'acme' })
 */
export async function readConfiguration(
  limiter: Limiter,
  ...subject: [subject?: Subject]
): Promise<readonly ConfigurationEntry[]> {
  if (subject.length > 0) assertSubject(subject[0])
  const handle = handleOf(limiter)
  const entries = await readEntries(handle, subject[0])
  const now = handle.cache.clock()
  return entries.flatMap((entry) => {
    const { temporary, ...lasting } = entry
    if (!temporary || isCurrent(temporary, now)) return [entry]
    return Object.keys(entry.settings).length > 0 ? [lasting] : []
  })
}

/**
 * Lists the policies that stored settings name and the limiter does not have, such as a policy that was renamed: these
 * settings are ignored. The records of `partitionRecords` are not read.
 *
 * @throws StoreError When the store fails.
 * @example
 * await unknownPolicies(limiter) // ['requests-per-minute']
 */
export async function unknownPolicies(limiter: Limiter): Promise<readonly string[]> {
  const { entries } = await readDocument(handleOf(limiter).cache)
  const known = new Set(runtimeOf(limiter).program.policies.map(({ name }) => name))
  const named = entries.map((entry) => (entry as { policy?: unknown } | null)?.policy)
  const unknown = named.filter((name) => typeof name === 'string' && !known.has(name))
  return [...new Set(unknown as string[])]
}

/**
 * Reads the size of the configuration in the store. The records of `partitionRecords` do not count.
 *
 * @throws StoreError When the store fails.
 * @example
 * const { share, isAlmostFull } = await configurationSize(limiter)
 */
export async function configurationSize(limiter: Limiter): Promise<ConfigurationSize> {
  return documentSize((await readDocument(handleOf(limiter).cache)).entries)
}

/** Reads settings, of which temporary ones may have ended. */
async function readEntries(
  { cache, partitions }: ConfigurationHandle,
  subject: Subject | undefined,
): Promise<readonly ConfigurationEntry[]> {
  if (subject && partitions) return partitions.read(subject)
  const { configuration } = await cache.read()
  if (!subject) return [...configuration.values()]
  const entries: ConfigurationEntry[] = []
  for (const { policy } of cache.policies.values()) {
    const { name, per } = policy
    if (per === 'global' || lacksDimension(subject, per)) continue
    const partition = await encodePartitionAsync(subject, per)
    const entry = configuration.get(settingKey(name, partition))
    if (entry) entries.push(entry)
  }
  return entries
}

/**
 * Removes the settings of the subject's partitions, in every policy that is not per `'global'`, or in
 * the policies that are named. Settings of whole policies stay.
 *
 * @throws StoreError When the store fails.
 * @throws ConfigError As `limiter.reset` does.
 * @example
 * await removeConfiguration(limiter, { tenant: 'acme' })
 */
export async function removeConfiguration(
  limiter: Limiter,
  subject: Subject,
  options: ResetOptions = {},
): Promise<void> {
  assertSubject(subject)
  const handle = handleOf(limiter)
  const policies = policiesToReset(runtimeOf(limiter).program.policies, subject, options)
  const changes = policies.flatMap((policy) => {
    const configurable = handle.cache.policies.get(policy.name)
    const { per } = policy
    if (!configurable || per === 'global') return []
    const subjects = onRoutes(subject, policy, options).filter((one) => !lacksDimension(one, per))
    return subjects.map((one) => removeAll(configurable, one))
  })
  if (changes.length > 0) await makeAll(handle, changes)
}

/**
 * Removes the settings and then the counts of the subject's partitions: `removeConfiguration` and `limiter.reset`
 * in one call, so that a tenant starts anew.
 *
 * @throws StoreError When the store fails. It is safe to repeat.
 * @throws InputError As `limiter.reset` does.
 * @throws ConfigError As `limiter.reset` does.
 * @example
 * await resetAll(limiter, { tenant: 'acme' })
 */
export async function resetAll(
  limiter: Limiter,
  subject: Subject,
  options: ResetOptions = {},
): Promise<void> {
  await removeConfiguration(limiter, subject, options)
  await limiter.reset(subject, options)
}

async function makeAll(
  { cache, partitions }: ConfigurationHandle,
  changes: readonly Change[],
  author?: Author,
): Promise<void> {
  if (!partitions || changes[0]?.subject === undefined) return makeChanges(cache, changes, author)
  await partitions.change(changes)
  // The document may have settings of the partitions from before they had records.
  const removals = changes.flatMap(removalsOf)
  if (removals.length > 0) await makeChanges(cache, removals)
}

/** Returns the part of a change that removes settings. */
function removalsOf(change: Change): Change[] {
  const removed = Object.entries(change.lasting).filter(([, value]) => value === null)
  const temporary = change.temporary === null ? null : undefined
  if (removed.length === 0 && temporary === undefined) return []
  return [{ ...change, lasting: Object.fromEntries(removed), temporary }]
}

/** @throws ConfigError When the limiter has no `runtimeConfiguration`. */
export const handleOf = (limiter: Limiter): ConfigurationHandle =>
  extensionHandle<ConfigurationHandle>(limiter, CONFIGURATION, 'runtimeConfiguration')
