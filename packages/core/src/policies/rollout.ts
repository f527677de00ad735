import { assertKnownOptions, assertPercentage } from '../internal/validation.ts'

/** True if a policy denies, or only tells that it would. */
export type Mode = 'enforce' | 'shadow'

/** Options of `rollout`. */
export interface RolloutOptions {
  /** The percentage of partitions that are counted at all, always the same ones. @default 100 */
  readonly enabled?: number
  /** The percentage of counted partitions that are enforced; the others are in shadow. @default 100 */
  readonly enforced?: number
}

/** Lets a policy in little by little. Made by `rollout`. */
export interface Rollout {
  /** False where no percentage is between 0 and 100: then it is all partitions or none. */
  readonly isPartial: boolean
  /** Returns true if the policy named `name` counts this partition. */
  isEnabled(name: string, partition: string): boolean
  /** Returns true if it denies there. */
  isEnforced(name: string, partition: string): boolean
}

/**
 * Counts, or enforces, a policy for a percentage of its partitions. They are always the same ones,
 * chosen by a hash of the partition and the policy's name, and those of a smaller percentage are among
 * those of a larger one.
 *
 * @throws ConfigError When an option is unknown or no percentage.
 * @example
 * slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'], rollout: rollout({ enforced: 10 }) })
 */
export function rollout(options: RolloutOptions): Rollout {
  assertKnownOptions('rollout', options, ['enabled', 'enforced'])
  const { enabled = 100, enforced = 100 } = options
  const shares = [
    assertPercentage('rollout.enabled', enabled),
    assertPercentage('rollout.enforced', enforced),
  ]
  return Object.freeze({
    isPartial: shares.some((share) => share > 0 && share < 100),
    isEnabled: (name: string, partition: string) =>
      isInShare(`${name}/enabled:${partition}`, enabled),
    isEnforced: (name: string, partition: string) =>
      isInShare(`${name}/enforced:${partition}`, enforced),
  })
}

/**
 * Returns true if `text` is among the first `percent` of a hundred: the same texts every time,
 * everywhere.
 */
export function isInShare(text: string, percent: number): boolean {
  if (percent >= 100) return true
  return percent > 0 && (hash(text) / 2 ** 32) * 100 < percent
}

/** FNV-1a over UTF-16 units, stirred at the end (the finaliser of MurmurHash3) as the ends differ most. */
function hash(text: string): number {
  let mixed = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193)
  }
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
