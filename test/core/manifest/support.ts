import {
  createLimiter,
  manualClock,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type PolicyRule,
  type Subject,
} from '@sluice/core'
import { defineManifest, type DefinedManifest, type Manifest } from '@sluice/core/manifest'
import { memory } from '@sluice/core/memory'

/** A manifest that TypeScript has not seen, as one out of a file. */
export const loosely = (manifest: unknown): DefinedManifest => defineManifest(manifest as Manifest)

/** The rules of a manifest's policies. */
export const rulesIn = ({ policies }: Pick<DefinedManifest, 'policies'>): readonly PolicyRule[] =>
  policies.flatMap((policy) => policy())

/** A limiter of a manifest's policies, in memory. */
export function limiterOf(
  { policies }: Pick<DefinedManifest, 'policies'>,
  options: Partial<LimiterOptions> = {},
): Limiter {
  const clock = manualClock(Date.UTC(2026, 0, 1, 12))
  return createLimiter({ store: memory(), clock, policies, ...options })
}

/** How many requests like this one are allowed, up to `most`. */
export async function allowedOf(limiter: Limiter, subject: Subject, most = 20): Promise<number> {
  for (let count = 0; count < most; count += 1) {
    if (!(await limiter.check(subject)).allowed) return count
  }
  return most
}

/** The policies that took part, with the limits that applied. */
export function took({ policies }: Decision): Record<string, number> {
  return Object.fromEntries(policies.map(({ name, limit }) => [name, limit]))
}
