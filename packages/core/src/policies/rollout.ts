import { hash } from '../internal/hash.ts'
import { assertKnownOptions, assertOneOf, assertPercentage } from '../internal/validation.ts'

/** `'enforce'` denies what does not fit; `'shadow'` only reports it. */
export type Mode = 'enforce' | 'shadow'

/** Options of `rollout`. */
export interface RolloutOptions {
  /** The percentage of partitions that are counted. The others are skipped. @default 100 */
  readonly enabled?: number
  /** The percentage of counted partitions that are enforced. The others are in shadow. @default 100 */
  readonly enforced?: number
  /**
   * Selects partitions, always the same, or each request by chance, as Envoy does: a client above its limit is then
   * denied now and then. @default 'partition'
   */
  readonly by?: 'partition' | 'request'
}

/** Selects the partitions of a policy that are counted and enforced. Created by `rollout`. */
export interface Rollout {
  /** The percentage that is counted, and that of it which is enforced. */
  readonly enabled: number
  readonly enforced: number
  /** True if a percentage lies between 0 and 100, so that it selects some partitions only. */
  readonly isPartial: boolean
  /** Returns true if the policy named `name` counts this partition. */
  isEnabled(name: string, partition: string): boolean
  /** Returns true if the policy named `name` is enforced in this partition. */
  isEnforced(name: string, partition: string): boolean
}

/**
 * Counts or enforces a policy for a percentage of its partitions. A hash of the partition and the
 * policy's name selects them, so they are always the same, and a larger percentage includes those of a
 * smaller one. With `by: 'request'` it is a percentage of requests.
 *
 * @throws ConfigError When an option is unknown or not a percentage: 0, or from 1 to 100.
 * @example
 * slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'], rollout: rollout({ enforced: 10 }) })
 */
export function rollout(options: RolloutOptions): Rollout {
  assertKnownOptions('rollout', options, ['enabled', 'enforced', 'by'])
  const { enabled = 100, enforced = 100, by = 'partition' } = options
  assertOneOf('rollout.by', by, ['partition', 'request'])
  const isRandom = by === 'request'
  const isIn = (text: string, percent: number): boolean =>
    isRandom ? Math.random() * 100 < percent : isInShare(text, percent)
  const shares = [
    assertPercentage('rollout.enabled', enabled),
    assertPercentage('rollout.enforced', enforced),
  ]
  return Object.freeze({
    enabled,
    enforced,
    isPartial: !isRandom && shares.some((share) => share > 0 && share < 100),
    isEnabled: (name: string, partition: string) => isIn(`${name}/enabled:${partition}`, enabled),
    isEnforced: (name: string, partition: string) =>
      isIn(`${name}/enforced:${partition}`, enforced),
  })
}

/**
 * Returns true if the hash of `text` falls in the first `percent` of a hundred. The answer is the same
 * in every process.
 */
export function isInShare(text: string, percent: number): boolean {
  if (percent >= 100) return true
  return percent > 0 && (hash(text) / 2 ** 32) * 100 < percent
}
