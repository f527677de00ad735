import type { Rule, SettingChanges, Settings } from './settings.ts'
import { ConfigError, InputError, SluiceError } from '../errors.ts'
import { changed, validSettings } from './settings.ts'
import { encodePartitionAsync } from '../subject.ts'
import { assertKnownOptions, assertOptions } from '../internal/validation.ts'

/** What is set at run time for a policy, or for one of its partitions. */
export interface Configured {
  readonly policy: string
  /** The dimensions of the partition; `undefined` for the whole policy. */
  readonly subject: Readonly<Record<string, string>> | undefined
  readonly settings: Settings
}

/** A change to what is set in one place. */
export interface Change {
  readonly rule: Rule
  readonly subject: Configured['subject']
  /** `null` to set nothing any more. */
  readonly changes: SettingChanges | null
}

/** What is valid in a document. */
export interface Reading {
  readonly configured: readonly Configured[]
  /** By policy and partition, as `placeOf` says. */
  readonly byPlace: ReadonlyMap<string, Settings>
}

/** What may be set, by policy. */
export type Rules = ReadonlyMap<string, Rule>

/** More would make what isolates load large. */
const MAX_PARTITIONS = 1_000
const MAX_CHARACTERS = 500_000

/** Names a policy, or one of its partitions. */
export function placeOf(policy: string, partition?: string): string {
  return partition === undefined ? policy : `${policy}:${partition}`
}

/** The entries of a document, valid or not. What is no document is as good as an empty one. */
export function entriesIn(text: string | undefined, complain: (what: string) => void): unknown[] {
  if (text === undefined) return []
  try {
    const entries: unknown = JSON.parse(text)
    if (Array.isArray(entries)) return entries
  } catch {
    // Told below.
  }
  complain('is not a list of settings')
  return []
}

/** Reads entries; those that are not valid are left out, one by one. */
export async function readEntries(
  entries: readonly unknown[],
  rules: Rules,
  complain: (what: string) => void,
): Promise<Reading> {
  const configured: Configured[] = []
  const byPlace = new Map<string, Settings>()
  for (const [index, entry] of entries.entries()) {
    try {
      const { policy, subject, settings } = validEntry(`[${index}]`, entry, rules, complain)
      if (Object.keys(settings).length === 0) continue
      const { per } = (rules.get(policy) as Rule).policy
      const partition = subject && (await encodePartitionAsync(subject, per))
      byPlace.set(placeOf(policy, partition), settings)
      configured.push({ policy, subject, settings })
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      // The path of an id begins at the subject.
      complain(error instanceof InputError ? `[${index}].${error.message}` : error.message)
    }
  }
  return { configured, byPlace }
}

/**
 * The text of a document with these changes. Entries and settings that are none here stay as they
 * are: they may be of another version of the app.
 *
 * @throws ConfigError `configuration_full` When it would be too large.
 */
export function changedText(entries: readonly unknown[], changes: readonly Change[]): string {
  const edited = [...entries]
  for (const { rule, subject, changes: change } of changes) {
    const policy = rule.policy.name
    const at = edited.findIndex((entry) => isPlace(entry, policy, subject))
    const { own, others } = settingsIn(edited[at], rule, subject !== undefined)
    const settings = { ...others, ...(change && changed(own, change)) }
    const isEmpty = Object.keys(settings).length === 0
    const kept = isEmpty ? [] : [{ policy, ...(subject && { subject }), settings }]
    edited.splice(at < 0 ? edited.length : at, 1, ...kept)
  }
  const text = JSON.stringify(edited)
  const partitions = edited.filter((entry) => (entry as Partial<Configured> | null)?.subject)
  if (partitions.length <= MAX_PARTITIONS && text.length <= MAX_CHARACTERS) return text
  const most = `${MAX_PARTITIONS} partitions and ${MAX_CHARACTERS} characters`
  throw new ConfigError('configuration_full', 'configure', `would set more than ${most}`)
}

function validEntry(
  where: string,
  entry: unknown,
  rules: Rules,
  complain: (what: string) => void,
): Configured {
  assertOptions(where, entry)
  const { policy, subject, settings } = entry as Partial<Configured>
  const rule = rules.get(policy as string)
  if (!rule || policy === undefined) {
    throw new ConfigError('invalid_option', `${where}.policy`, 'is none that may be configured')
  }
  assertOptions(where, settings)
  const isOwn = ([name]: readonly [string, unknown]): boolean => isAllowed(name, rule)
  const given = Object.entries(settings)
  // What another version of the app may set is no reason to ignore what this one may.
  for (const [name] of given.filter((setting) => !isOwn(setting))) {
    complain(`${where}.${name} is none that may be configured`)
  }
  const own: unknown = Object.fromEntries(given.filter(isOwn))
  if (subject === undefined) {
    return { policy, subject, settings: validSettings(where, own, rule, false) }
  }
  const { per } = rule.policy
  if (per === 'global') {
    throw new ConfigError('invalid_option', `${where}.subject`, 'is of a policy with per "global"')
  }
  // A partition of what the policy once was per is none of it now, and no larger or smaller one either.
  assertKnownOptions(`${where}.subject`, subject, per)
  return { policy, subject, settings: validSettings(where, own, rule, true) }
}

/** What an entry sets: what is valid of what may be set here, and what another version may have set. */
function settingsIn(
  entry: unknown,
  rule: Rule,
  isPartition: boolean,
): { own: Settings; others: object } {
  const { settings } = (entry ?? {}) as { settings?: unknown }
  const isObject = typeof settings === 'object' && settings !== null && !Array.isArray(settings)
  const given = Object.entries(isObject ? settings : {})
  const isValid = ([name, value]: readonly [string, unknown]): boolean => {
    try {
      validSettings('', { [name]: value }, rule, isPartition)
      return true
    } catch {
      return false
    }
  }
  return {
    own: Object.fromEntries(given.filter(isValid)),
    others: Object.fromEntries(given.filter(([name]) => !isAllowed(name, rule))),
  }
}

function isAllowed(name: string, { allowed }: Rule): boolean {
  return allowed.some((setting) => setting === name)
}

function isPlace(entry: unknown, policy: string, subject: Configured['subject']): boolean {
  const { policy: name, subject: own } = (entry ?? {}) as Partial<Configured>
  if (name !== policy || !own || !subject) return name === policy && !own && !subject
  const dimensions = Object.entries(subject)
  return (
    Object.keys(own).length === dimensions.length &&
    dimensions.every(
      ([dimension, value]) => Object.hasOwn(own, dimension) && own[dimension] === value,
    )
  )
}
