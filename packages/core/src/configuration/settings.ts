import type { PolicySettings } from '../limiter/resolve.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { isInShare, type Mode } from '../policies/rollout.ts'
import { ConfigError } from '../errors.ts'
import { assertCountable, type Units } from '../policies/limit.ts'
import {
  assertLimit,
  assertKnownOptions,
  assertOneOf,
  assertPercentage,
  assertPositiveInteger,
} from '../internal/validation.ts'

/** What may be set at run time for a policy, or for one of its partitions. */
export interface Settings {
  /** Units allowed per window: 0 allows nothing, `'unlimited'` is not counted. */
  readonly limit?: Units
  /** The most units that a bucket holds. */
  readonly burst?: number
  /** `'shadow'` counts and never denies; `'enforce'` denies, in all partitions unless `enforced` is set too. */
  readonly mode?: Mode
  /** The percentage of partitions that are counted at all; for one partition, 0 or 100. */
  readonly enabled?: number
  /** The percentage of counted partitions that are enforced; for one partition, 0 or 100. */
  readonly enforced?: number
}

/** The name of something that may be set at run time. */
export type Setting = keyof Settings

export const SETTINGS: readonly Setting[] = ['limit', 'burst', 'mode', 'enabled', 'enforced']

/** What to set, and, as `null`, what to set no longer. */
export type SettingChanges = { readonly [Name in Setting]?: Settings[Name] | null }

/** A policy, and what may be set of it. */
export interface Rule {
  readonly policy: PolicyRule
  readonly allowed: readonly Setting[]
}

/** Returns `settings` if they may be set, for a whole policy or for one of its partitions; else throws. */
export function validSettings(
  where: string,
  settings: unknown,
  { policy: { per, maxUnits }, allowed }: Rule,
  isPartition: boolean,
): Settings {
  assertKnownOptions(where, settings, allowed)
  const { limit, burst, mode, enabled, enforced } = settings as Settings
  if (limit !== undefined && limit !== 'unlimited') {
    assertCountable(() => `${where}.limit`, assertLimit(`${where}.limit`, limit), maxUnits)
  }
  if (burst !== undefined) assertPositiveInteger(`${where}.burst`, burst, maxUnits)
  if (mode !== undefined) assertOneOf(`${where}.mode`, mode, ['enforce', 'shadow'])
  for (const [name, share] of Object.entries({ enabled, enforced })) {
    if (share === undefined) continue
    assertPercentage(`${where}.${name}`, share)
    if ((isPartition || per === 'global') && share > 0 && share < 100) {
      const one = isPartition ? 'for a partition' : 'with per "global", which has one partition'
      throw new ConfigError('invalid_option', `${where}.${name}`, `must be 0 or 100 ${one}`)
    }
  }
  return settings as Settings
}

/** `settings` with these changes, which have been validated; `undefined` changes nothing. */
export function changed(settings: Settings, changes: SettingChanges): Settings {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  const entries = Object.entries({ ...settings, ...Object.fromEntries(given) })
  return Object.fromEntries(entries.filter(([, value]) => value !== null))
}

/** Returns what settings mean in one partition of a policy. */
export function meaningOf(
  { limit, burst, mode, enabled, enforced }: Settings,
  rolloutName: string,
  partition: string,
): PolicySettings {
  const share = mode === 'shadow' ? 0 : (enforced ?? (mode === 'enforce' ? 100 : undefined))
  const within = (kind: string, percent: number | undefined): boolean | undefined =>
    percent === undefined ? undefined : isInShare(`${rolloutName}/${kind}:${partition}`, percent)
  return { limit, burst, enabled: within('enabled', enabled), enforced: within('enforced', share) }
}
