import type {
  ConfigurablePolicies,
  ConfigurablePolicy,
  EntrySettings,
  Settings,
  TemporarySettings,
} from './settings.ts'
import { ConfigError, InputError } from '../errors.ts'
import { assertKnownOptions, assertOptions, invalidOption } from '../internal/validation.ts'
import { encodePartitionAsync } from '../subject.ts'
import { assertSettings } from './settings.ts'
import { assertTime } from './temporary.ts'
import { parseJson } from '../internal/attempt.ts'

/** The settings of a policy, or of one of its partitions. */
export interface ConfigurationEntry extends EntrySettings {
  readonly policy: string
  /** The dimensions of the partition; `undefined` for the whole policy. */
  readonly subject: Readonly<Record<string, string>> | undefined
}

/** The valid entries of a document, by `settingKey`. */
export type Configuration = ReadonlyMap<string, ConfigurationEntry>

/** Reports a part of the document that is invalid, and ignored. */
export type Report = (problem: string) => void

/** Identifies a policy, or one of its partitions. */
export function settingKey(policy: string, partition?: string): string {
  return partition === undefined ? policy : `${policy}:${partition}`
}

/** Parses a document into its entries, valid or not. An invalid document has none. */
export function parseDocument(text: string | undefined, report: Report): unknown[] {
  if (text === undefined) return []
  const entries = parseJson(text)
  if (Array.isArray(entries)) return entries
  report('must be a JSON list')
  return []
}

/** Returns the valid parts of the entries. Another version of the app may have written the rest. */
export async function parseConfiguration(
  entries: readonly unknown[],
  policies: ConfigurablePolicies,
  report: Report,
): Promise<Configuration> {
  const configuration = new Map<string, ConfigurationEntry>()
  for (const [index, entry] of entries.entries()) {
    const path = `[${index}]`
    try {
      assertOptions(path, entry)
      const { policy, subject, settings } = entry as Partial<ConfigurationEntry>
      const configurable = policies.get(policy as string)
      if (policy === undefined || !configurable) {
        throw invalidOption(`${path}.policy`, 'must be a policy that runtimeConfiguration allows')
      }
      const { per } = configurable.policy
      const isPartition = subject !== undefined
      if (isPartition && per === 'global') {
        throw invalidOption(`${path}.subject`, 'must be left out: per "global" has one partition')
      }
      // Exactly the dimensions of `per`, which may have changed since this was written.
      if (isPartition) assertKnownOptions(`${path}.subject`, subject, per as readonly string[])
      assertOptions(path, settings)
      const valid = parseSettings(path, settings, configurable, isPartition, report)
      if (!valid) continue
      const key = settingKey(
        policy,
        isPartition ? await encodePartitionAsync(subject, per) : undefined,
      )
      configuration.set(key, { policy, subject, ...valid })
    } catch (error) {
      // The path in an error about an id starts at the subject.
      if (error instanceof InputError) report(`${path}.${error.input}: ${error.reason}`)
      else if (error instanceof ConfigError) report(`${error.option}: ${error.reason}`)
      else throw error
    }
  }
  return configuration
}

/** Returns the valid ones of stored settings; `undefined` if there are none. */
export function parseSettings(
  path: string,
  stored: object,
  configurable: ConfigurablePolicy,
  isPartition: boolean,
  report: Report,
): EntrySettings | undefined {
  const { temporary: storedTemporary, ...lasting } = stored as { readonly temporary?: unknown }
  const select: Select = (option, settings) =>
    selectValid(option, settings, configurable, isPartition, report)
  const settings = select(path, lasting)
  const temporary =
    storedTemporary === undefined
      ? undefined
      : parseTemporary(`${path}.temporary`, storedTemporary, select, report)
  if (temporary) return { settings, temporary }
  return Object.keys(settings).length > 0 ? { settings } : undefined
}

/** Returns the valid ones of settings. */
type Select = (option: string, settings: object) => Settings

function parseTemporary(
  option: string,
  stored: unknown,
  select: Select,
  report: Report,
): TemporarySettings | undefined {
  try {
    assertOptions(option, stored)
    const { until, ...rest } = stored as { readonly until?: unknown }
    const end = assertTime(`${option}.until`, until)
    const settings = select(option, rest)
    return Object.keys(settings).length > 0 ? { settings, until: end } : undefined
  } catch (error) {
    const { option: invalid, reason } = error as ConfigError
    report(`${invalid}: ${reason}`)
    return undefined
  }
}

function selectValid(
  path: string,
  settings: object,
  configurable: ConfigurablePolicy,
  isPartition: boolean,
  report: Report,
): Settings {
  const valid: Settings = {}
  for (const setting of Object.entries(settings)) {
    try {
      const single = Object.fromEntries([setting])
      Object.assign(valid, assertSettings(path, single, configurable, isPartition))
    } catch (error) {
      const { option, reason } = error as ConfigError
      report(`${option}: ${reason}`)
    }
  }
  return valid
}
