/* The run-time settings of a policy that a search for limits works with. */
import type { PolicyRule, Subject } from '@sluice/core'
import type { DesiredEntry } from '@sluice/core/configuration'

/** The settings of a policy: those that set a limit, and all without it. */
export interface LimitSettings {
  /** Returns the setting that a subject's limit is of: that of its partition, else of everyone; `undefined` if none. */
  find(subject: Subject): DesiredEntry | undefined
  /** The settings of `burst`, `enabled` and a calendar. No mode: a limit that is searched for is enforced. */
  readonly others: readonly DesiredEntry[]
}

/** Prepares the settings of a rule. */
export function limitSettings(
  { name, per }: PolicyRule,
  configuration: readonly DesiredEntry[] = [],
): LimitSettings {
  const entries = configuration.filter(({ policy }) => policy === name)
  const limits = entries.filter(({ settings }) => settings.limit !== undefined)
  const keyOf = (subject: Subject): string => {
    const values = subject as Readonly<Record<string, string>>
    return per === 'global' ? '' : JSON.stringify(per.map((dimension) => values[dimension]))
  }
  const partitions = new Map(
    limits.flatMap((entry) => (entry.subject ? [[keyOf(entry.subject as Subject), entry]] : [])),
  )
  const everyone = limits.find(({ subject }) => subject === undefined)
  return {
    find: (subject) => (partitions.size > 0 && partitions.get(keyOf(subject))) || everyone,
    others: entries.flatMap((entry) => withSettings(entry, undefined)),
  }
}

/** Returns an entry with this limit and what else decides how much is allowed; none if nothing is left. */
export function withSettings(
  { policy, subject, settings: { burst, enabled, zone, anchor } }: DesiredEntry,
  limit: DesiredEntry['settings']['limit'],
): DesiredEntry[] {
  const settings = {
    ...(limit !== undefined && { limit }),
    ...(burst !== undefined && { burst }),
    ...(enabled !== undefined && { enabled }),
    ...(zone !== undefined && { zone }),
    ...(anchor !== undefined && { anchor }),
  }
  return Object.keys(settings).length === 0 ? [] : [{ policy, subject, settings }]
}
