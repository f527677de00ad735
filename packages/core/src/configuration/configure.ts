import type { ConfigurationEntry } from './document.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { assertSubject } from '../limiter/call.ts'
import { policiesToReset, type ResetOptions } from '../limiter/reset.ts'
import { extensionHandle, runtimeOf } from '../limiter/runtime.ts'
import { lacksDimension, type Subject } from '../subject.ts'
import { makeChanges, parseChanges, type ConfigurationChanges } from './changes.ts'
import { CONFIGURATION, type ConfigurationCache } from './configuration-cache.ts'

/**
 * Changes settings while the app runs: of whole policies, or, with a subject, of the partitions that it
 * falls in. A partition's settings take precedence over the policy's; `null` removes settings. Changes
 * apply to the next request of this isolate, and within 5 seconds to the others. If one change is
 * invalid, none is made.
 *
 * @throws ConfigError When `runtimeConfiguration` does not allow a setting, or a value is out of range.
 * @throws InputError When the subject lacks a dimension of one of the policies.
 * @throws StoreError When the store fails. The changes may have been made; it is safe to repeat them.
 * @example
 * await configure(limiter, { rpm: { limit: 30 } })
 * await configure(limiter, { rpm: { limit: 5 } }, { tenant: 'acme' })
 */
export async function configure(
  limiter: Limiter,
  changes: ConfigurationChanges,
  ...subject: [subject?: Subject]
): Promise<void> {
  // A subject that is `undefined` by mistake must not set everyone's limits.
  if (subject.length > 0) assertSubject(subject[0])
  const cache = cacheOf(limiter)
  await makeChanges(cache, await parseChanges(changes, subject[0], cache.policies))
}

/** Reads all settings from the store. @throws StoreError When the store fails. */
export async function readConfiguration(limiter: Limiter): Promise<readonly ConfigurationEntry[]> {
  const { configuration } = await cacheOf(limiter).read()
  return [...configuration.values()]
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
  const cache = cacheOf(limiter)
  const policies = policiesToReset(runtimeOf(limiter).program.policies, subject, options)
  const changes = policies.flatMap(({ name, per }) => {
    const configurable = cache.policies.get(name)
    const hasPartition = per !== 'global' && !lacksDimension(subject, per)
    return configurable && hasPartition ? [{ configurable, subject, changes: null }] : []
  })
  if (changes.length > 0) await makeChanges(cache, changes)
}

const cacheOf = (limiter: Limiter): ConfigurationCache =>
  extensionHandle<ConfigurationCache>(limiter, CONFIGURATION, 'runtimeConfiguration')
