import { ConfigError } from './errors.ts'
import { oneOf, percentage } from './validate.ts'

/** Whether a policy denies, or only tells that it would. */
export type Mode = 'enforce' | 'shadow'

/** Options that let a policy in little by little. */
export interface RolloutOptions {
  /**
   * `'shadow'` counts as if it were enforced and never denies: what it would have denied is told by
   * `fits: false` in the decision and by the hook `shadowDenial`. @default 'enforce'
   */
  readonly mode?: Mode
  /** The percentage of partitions that are counted at all, always the same ones. @default 100 */
  readonly enabled?: number
  /** The percentage of counted partitions that are enforced; for the others it is a shadow. @default 100 */
  readonly enforced?: number
}

/** How far a policy is let in, in percent of its partitions. */
export interface Rollout {
  readonly enabled: number
  readonly enforced: number
}

/** Validates the options, and makes the rollout. */
export function rolloutOf(where: string, options: RolloutOptions, isGlobal: boolean): Rollout {
  const mode = oneOf(`${where}.mode`, options.mode ?? 'enforce', ['enforce', 'shadow'])
  const { enabled = 100, enforced = 100 } = options
  for (const [option, value] of Object.entries({ enabled, enforced })) {
    const share = percentage(`${where}.${option}`, value)
    if (isGlobal && share > 0 && share < 100) {
      const message = 'must be 0 or 100 with per "global", which has one partition'
      throw new ConfigError('invalid_option', `${where}.${option}`, message)
    }
  }
  if (mode === 'shadow' && options.enforced !== undefined) {
    throw new ConfigError('invalid_option', `${where}.enforced`, 'has no meaning in mode "shadow"')
  }
  return { enabled, enforced: mode === 'shadow' ? 0 : enforced }
}

/**
 * Whether `text` is among the first `percent` of a hundred: the same texts every time, everywhere, and
 * those of a smaller percentage are among those of a larger one.
 */
export function inShare(text: string, percent: number): boolean {
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
