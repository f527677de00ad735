import type { ConfigurationChanges } from './changes.ts'
import type { Configured } from './document.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { assertSubject } from '../limiter/call.ts'
import { policiesToReset, type ResetOptions } from '../limiter/reset.ts'
import { extensionHandle, runtimeOf } from '../limiter/runtime.ts'
import type { Subject } from '../subject.ts'
import { CONFIGURATION, type ConfigurationHandle } from './runtime-configuration.ts'

/**
 * Changes settings of policies while the app runs: for all of a policy, or, with a subject, for the
 * partition that it falls in, which comes first. `null` removes what is set. In effect with the next
 * request of this isolate, and within 5 seconds in the others. Nothing is written unless all of it is
 * valid.
 *
 * @throws ConfigError When the limiter's `runtimeConfiguration` does not allow it, or a value is out of range.
 * @throws InputError When the subject lacks a dimension of one of the policies.
 * @throws StoreError When the store fails; the change may have been made, and can be made again.
 * @example
 * await configure(limiter, { rpm: { limit: 30 } })
 * await configure(limiter, { rpm: { limit: 5 } }, { tenant: 'acme' })
 */
export async function configure(
  limiter: Limiter,
  changes: ConfigurationChanges,
  ...subject: [subject?: Subject]
): Promise<void> {
  // A subject that turns out to be missing must not set the limits of everyone.
  if (subject.length > 0) assertSubject(subject[0])
  await handleOf(limiter).configure(changes, subject[0])
}

/** What is configured, as the store has it now. @throws StoreError When it fails. */
export async function configured(limiter: Limiter): Promise<readonly Configured[]> {
  return handleOf(limiter).configured()
}

/**
 * Removes what is configured for the subject's partitions: in every policy that is not per `'global'`,
 * or in those that are named.
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
  const { policies } = runtimeOf(limiter).program
  await handleOf(limiter).remove(policiesToReset(policies, subject, options), subject)
}

const handleOf = (limiter: Limiter): ConfigurationHandle =>
  extensionHandle<ConfigurationHandle>(limiter, CONFIGURATION, 'runtimeConfiguration')
