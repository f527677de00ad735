/* The text of a partition's record: a JSON object of settings, by the names of policies. */
import type { PartitionSettings } from './partition-copy.ts'
import type { ConfigError } from '../errors.ts'
import { assertOptions, invalidOption } from '../internal/validation.ts'
import { parseSettings, type Report } from './document.ts'
import {
  changeSettings,
  type Change,
  type ConfigurablePolicies,
  type EntrySettings,
} from './settings.ts'
import { removeEnded } from './temporary.ts'

/** The text of a record without settings. */
export const EMPTY_RECORD = '{}'

/** Returns the valid settings in a record. Another version of the app may have written the rest. */
export function parseRecord(
  text: string | undefined,
  policies: ConfigurablePolicies,
  report: Report,
): PartitionSettings {
  const parsed = new Map<string, EntrySettings>()
  for (const [name, settings] of Object.entries(parseObject(text, report))) {
    try {
      const configurable = policies.get(name)
      if (!configurable) {
        const message = 'must be a policy of this partition that runtimeConfiguration allows'
        throw invalidOption(JSON.stringify(name.slice(0, 64)), message)
      }
      assertOptions(name, settings)
      const valid = parseSettings(name, settings, configurable, true, report)
      if (valid) parsed.set(name, valid)
    } catch (error) {
      const { option, reason } = error as ConfigError
      report(`${option}: ${reason}`)
    }
  }
  return parsed
}

/** Returns the text of a record with changes. Other fields that have not ended stay, valid or not. */
export function editRecord(
  text: string | undefined,
  changes: readonly Change[],
  now: number,
  report: Report,
): string {
  const record = new Map<string, unknown>()
  for (const [name, stored] of Object.entries(parseObject(text, report))) {
    const settings = removeEnded(stored, now)
    if (settings !== undefined) record.set(name, settings)
  }
  for (const change of changes) {
    const { name } = change.configurable.policy
    const settings = changeSettings(record.get(name), change)
    if (Object.keys(settings).length > 0) record.set(name, settings)
    else record.delete(name)
  }
  return JSON.stringify(Object.fromEntries(record))
}

function parseObject(text: string | undefined, report: Report): object {
  if (text === undefined) return {}
  try {
    const record: unknown = JSON.parse(text)
    assertOptions('record', record)
    return record
  } catch {
    report('the record of a partition must be a JSON object')
    return {}
  }
}
