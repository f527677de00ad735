import type { Clock } from '../clock.ts'
import type { PolicySettings } from '../limiter/resolve.ts'
import type { CalendarSettings, PolicyRule } from '../policies/policy.ts'
import type { Per, Subject } from '../subject.ts'
import {
  assertKnownOptions,
  assertLimit,
  assertOneOf,
  assertPercentage,
  assertPositiveInteger,
  invalidOption,
} from '../internal/validation.ts'
import { assertCountable, type Units } from '../policies/limit.ts'
import { isInShare, type Mode } from '../policies/rollout.ts'
import { isCurrent, removeTemporary, type Until } from './temporary.ts'

/** Settings of a policy, or of one of its partitions, that may change at run time. */
export interface Settings {
  /** Units allowed per window: 0 allows nothing, `'unlimited'` is not counted. */
  readonly limit?: Units
  /** The most units that a bucket holds. */
  readonly burst?: number
  /** `'shadow'` counts and never denies. `'enforce'` denies, in all partitions unless `enforced` is set too. */
  readonly mode?: Mode
  /** The percentage of partitions that are counted at all; for one partition, 0 or 100. */
  readonly enabled?: number
  /** The percentage of counted partitions that are enforced; for one partition, 0 or 100. */
  readonly enforced?: number
  /** The time zone of a calendar, such as `'Europe/Berlin'`. It applies from the end of the period that runs. */
  readonly zone?: string
  /** A date whose day and hour return in each period of a calendar, such as `'2026-01-31T06'`. It applies as `zone` does. */
  readonly anchor?: string
}

/** Settings that apply until a time. */
export interface TemporarySettings {
  readonly settings: Settings
  /** The time from which they no longer apply, in milliseconds since the Unix epoch. */
  readonly until: number
}

/** The settings of a policy, or of one of its partitions. */
export interface EntrySettings {
  /** The lasting ones. */
  readonly settings: Settings
  /** Settings that take precedence over the lasting ones until a time. */
  readonly temporary?: TemporarySettings
}

/** The stored form of temporary settings. */
type StoredTemporary = Settings & { readonly until: string }

/** The name of a setting. */
export type Setting = keyof Settings

/** The names of all settings. */
export const SETTINGS: readonly Setting[] = [
  'limit',
  'burst',
  'mode',
  'enabled',
  'enforced',
  'zone',
  'anchor',
]

/** Settings to change for good; `null` removes a setting. */
export type LastingChanges = { readonly [Name in Setting]?: Settings[Name] | null } & {
  /** `null` ends a temporary change now. */
  readonly until?: null
}

/** Settings to change until a time. They replace an earlier temporary change as a whole. */
export interface TemporaryChanges extends Settings {
  /** The end of the change: in the future, and at most 366 days from now. */
  readonly until: Until
}

/** Settings to change, for good or until a time. */
export type SettingChanges = LastingChanges | TemporaryChanges

/** A policy, and its settings that may be changed. */
export interface ConfigurablePolicy {
  readonly policy: PolicyRule
  readonly allowed: readonly Setting[]
}

/** A change to the settings of one policy, or of one of its partitions. */
export interface Change {
  readonly configurable: ConfigurablePolicy
  /** A subject of the partition; `undefined` for the whole policy. */
  readonly subject: Subject | undefined
  /** Lasting settings; `null` removes one. */
  readonly lasting: Readonly<Record<string, unknown>>
  /** Replaces a temporary change. `null` removes it; `undefined` leaves it. */
  readonly temporary: StoredTemporary | null | undefined
}

/** By the names of policies. */
export type ConfigurablePolicies = ReadonlyMap<string, ConfigurablePolicy>

/** Returns `settings` if a policy, or one of its partitions, may have them; else throws. */
export function assertSettings(
  option: string,
  settings: object,
  { policy: { per, maxUnits, calendar }, allowed }: ConfigurablePolicy,
  isPartition: boolean,
): Settings {
  assertKnownOptions(option, settings, allowed)
  const { limit, burst, mode, enabled, enforced, zone, anchor } = settings as Settings
  if (limit !== undefined && limit !== 'unlimited') {
    assertCountable(() => `${option}.limit`, assertLimit(`${option}.limit`, limit), maxUnits)
  }
  if (burst !== undefined) assertPositiveInteger(`${option}.burst`, burst, maxUnits)
  if (mode !== undefined) assertOneOf(`${option}.mode`, mode, ['enforce', 'shadow'])
  if (zone !== undefined) calendar?.assertSetting(`${option}.zone`, 'zone', zone)
  if (anchor !== undefined) calendar?.assertSetting(`${option}.anchor`, 'anchor', anchor)
  for (const [name, percentage] of Object.entries({ enabled, enforced })) {
    if (percentage === undefined) continue
    assertPercentage(`${option}.${name}`, percentage)
    if ((isPartition || per === 'global') && percentage > 0 && percentage < 100) {
      const why = isPartition ? 'for one partition' : 'with per "global", which has one partition'
      throw invalidOption(`${option}.${name}`, `must be 0 or 100 ${why}`)
    }
  }
  return settings
}

/**
 * Returns the effect on a partition of settings now: temporary ones take precedence until their end. It is
 * `undefined` after the end of all settings, so that those of another extension apply again.
 */
export function resolveSettings(
  { settings, temporary }: EntrySettings,
  clock: Clock,
  rolloutName: string,
  partition: string,
): PolicySettings | undefined {
  const includes = (kind: string, percentage: number | undefined): boolean | undefined =>
    percentage === undefined
      ? undefined
      : isInShare(`${rolloutName}/${kind}:${partition}`, percentage)
  const effectOf = ({
    limit,
    burst,
    enabled,
    zone,
    anchor,
    ...rest
  }: Settings): PolicySettings => ({
    limit,
    burst,
    enabled: includes('enabled', enabled),
    enforced: includes('enforced', enforcedPercentage(rest)),
    calendar: zone === undefined && anchor === undefined ? undefined : { zone, anchor },
  })
  if (temporary && isCurrent(temporary, clock())) {
    return mergeSettings(effectOf(temporary.settings), effectOf(settings))
  }
  return temporary && Object.keys(settings).length === 0 ? undefined : effectOf(settings)
}

/** Returns for each setting the value of the first that has it. */
export function mergeSettings(
  first: PolicySettings | undefined,
  second: PolicySettings | undefined,
): PolicySettings | undefined {
  if (!first || !second) return first ?? second
  return {
    limit: first.limit ?? second.limit,
    burst: first.burst ?? second.burst,
    enabled: first.enabled ?? second.enabled,
    enforced: first.enforced ?? second.enforced,
    calendar: mergeCalendars(first.calendar, second.calendar),
  }
}

function mergeCalendars(
  first: CalendarSettings | undefined,
  second: CalendarSettings | undefined,
): CalendarSettings | undefined {
  if (!first || !second) return first ?? second
  return { zone: first.zone ?? second.zone, anchor: first.anchor ?? second.anchor }
}

/** Returns the percentage that `mode` and `enforced` amount to together: setting either determines both. */
function enforcedPercentage({ mode, enforced }: Settings): number | undefined {
  return mode === 'shadow' ? 0 : (enforced ?? (mode === 'enforce' ? 100 : undefined))
}

/** Returns the dimensions of `per`, and no others. */
export function dimensionsOf(subject: Subject, per: Per): Record<string, string> {
  const values = subject as Readonly<Record<string, string>>
  const names = per === 'global' ? [] : per
  return Object.fromEntries(names.map((name) => [name, values[name] as string]))
}

/** Returns stored settings with a change. Those that the limiter does not allow stay. */
export function changeSettings(
  stored: unknown,
  { configurable, lasting, temporary }: Change,
): object {
  const settings: StoredSettings | null = typeof stored === 'object' ? stored : null
  const changed: Readonly<Record<string, unknown>> = {
    ...settings,
    ...lasting,
    ...(temporary !== undefined && {
      temporary: temporary ?? removeTemporary(settings?.temporary, configurable.allowed),
    }),
  }
  return Object.fromEntries(
    Object.entries(changed).filter(([, value]) => value !== null && value !== undefined),
  )
}

/** Settings of the document or a record, which may be anything. */
interface StoredSettings {
  readonly temporary?: unknown
}

/** Returns the change that removes all settings. */
export function removeAll(configurable: ConfigurablePolicy, subject: Subject | undefined): Change {
  const lasting = Object.fromEntries(configurable.allowed.map((setting) => [setting, null]))
  return { configurable, subject, lasting, temporary: null }
}
