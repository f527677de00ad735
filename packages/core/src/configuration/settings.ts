import type { PolicySettings } from '../limiter/resolve.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Per, Subject } from '../subject.ts'
import { ConfigError } from '../errors.ts'
import {
  assertKnownOptions,
  assertLimit,
  assertOneOf,
  assertPercentage,
  assertPositiveInteger,
} from '../internal/validation.ts'
import { assertCountable, type Units } from '../policies/limit.ts'
import { isInShare, type Mode } from '../policies/rollout.ts'

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
}

/** The name of a setting. */
export type Setting = keyof Settings

/** The names of all settings. */
export const SETTINGS: readonly Setting[] = ['limit', 'burst', 'mode', 'enabled', 'enforced']

/** Settings to change; `null` removes a setting. */
export type SettingChanges = { readonly [Name in Setting]?: Settings[Name] | null }

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
  /** `null` removes all settings. */
  readonly changes: SettingChanges | null
}

/** By the names of policies. */
export type ConfigurablePolicies = ReadonlyMap<string, ConfigurablePolicy>

/** Returns `settings` if a policy, or one of its partitions, may have them; else throws. */
export function assertSettings(
  option: string,
  settings: object,
  { policy: { per, maxUnits }, allowed }: ConfigurablePolicy,
  isPartition: boolean,
): Settings {
  assertKnownOptions(option, settings, allowed)
  const { limit, burst, mode, enabled, enforced } = settings as Settings
  if (limit !== undefined && limit !== 'unlimited') {
    assertCountable(() => `${option}.limit`, assertLimit(`${option}.limit`, limit), maxUnits)
  }
  if (burst !== undefined) assertPositiveInteger(`${option}.burst`, burst, maxUnits)
  if (mode !== undefined) assertOneOf(`${option}.mode`, mode, ['enforce', 'shadow'])
  for (const [name, percentage] of Object.entries({ enabled, enforced })) {
    if (percentage === undefined) continue
    assertPercentage(`${option}.${name}`, percentage)
    if ((isPartition || per === 'global') && percentage > 0 && percentage < 100) {
      const why = isPartition ? 'for one partition' : 'with per "global", which has one partition'
      throw new ConfigError('invalid_option', `${option}.${name}`, `must be 0 or 100 ${why}`)
    }
  }
  return settings
}

/** Returns the effect of settings on a partition: its own take precedence over those of the policy. */
export function resolveSettings(
  ofPartition: Settings,
  ofPolicy: Settings,
  rolloutName: string,
  partition: string,
): PolicySettings {
  const includes = (kind: string, percentage: number | undefined): boolean | undefined =>
    percentage === undefined
      ? undefined
      : isInShare(`${rolloutName}/${kind}:${partition}`, percentage)
  return {
    limit: ofPartition.limit ?? ofPolicy.limit,
    burst: ofPartition.burst ?? ofPolicy.burst,
    enabled: includes('enabled', ofPartition.enabled ?? ofPolicy.enabled),
    enforced: includes('enforced', enforcedPercentage(ofPartition) ?? enforcedPercentage(ofPolicy)),
  }
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

/** Returns stored settings with changes. `null` removes a setting, `undefined` has no effect. */
export function changeSettings(
  stored: unknown,
  changes: SettingChanges | null,
  { allowed }: ConfigurablePolicy,
): object {
  const removal = Object.fromEntries(allowed.map((setting) => [setting, null]))
  const defined = Object.entries(changes ?? removal).filter(([, value]) => value !== undefined)
  const settings = typeof stored === 'object' ? stored : {}
  const entries = Object.entries({ ...settings, ...Object.fromEntries(defined) })
  return Object.fromEntries(entries.filter(([, value]) => value !== null))
}
