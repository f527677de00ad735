import type { Change, Rules } from './document.ts'
import { ConfigError } from '../errors.ts'
import { changed, validSettings, type Rule, type SettingChanges } from './settings.ts'
import { encodePartitionAsync, type Subject } from '../subject.ts'
import { assertKnownOptions } from '../internal/validation.ts'

/** What to change, by policy; `null` to set nothing any more. */
export type ConfigurationChanges = Readonly<Record<string, SettingChanges | null>>

/**
 * What `configure` is asked to change, once all of it is known to be valid.
 *
 * @throws ConfigError When something may not be set, or not so.
 * @throws InputError When `subject` lacks a dimension of one of the policies.
 */
export async function validChanges(
  changes: ConfigurationChanges,
  subject: Subject | undefined,
  rules: Rules,
): Promise<Change[]> {
  assertKnownOptions('configure', changes, [...rules.keys()])
  const valid: Change[] = []
  for (const [name, change] of Object.entries(changes)) {
    const rule = rules.get(name) as Rule
    const { per } = rule.policy
    const where = `configure.${name}`
    if (change !== null) {
      assertKnownOptions(where, change, rule.allowed)
      const { mode, enforced } = validSettings(
        where,
        changed({}, change),
        rule,
        subject !== undefined,
      )
      if (mode === 'shadow' && enforced !== undefined) {
        const message = 'has no meaning in mode "shadow"'
        throw new ConfigError('invalid_option', `${where}.enforced`, message)
      }
    }
    if (subject === undefined) {
      valid.push({ rule, subject, changes: change })
      continue
    }
    if (per === 'global') {
      const message = 'counts per "global", which has no partitions; leave the subject out'
      throw new ConfigError('invalid_option', where, message)
    }
    await encodePartitionAsync(subject, per)
    valid.push({ rule, subject: dimensionsOf(subject, per), changes: change })
  }
  if (valid.length > 0) return valid
  throw new ConfigError('invalid_option', 'configure', 'must name at least one policy')
}

/** The dimensions of `per`, and no others. */
export function dimensionsOf(subject: Subject, per: readonly string[]): Record<string, string> {
  const values = subject as Readonly<Record<string, string>>
  return Object.fromEntries(per.map((dimension) => [dimension, values[dimension] as string]))
}
