import type { Limiter, PolicyRule } from '@sluice/core'
import { defineManifest, type DefinedManifest, type Manifest } from '@sluice/core/manifest'
import { setUp, type SetUpOptions } from '../../support/limiters.ts'

/** A manifest that TypeScript has not seen, as one out of a file. */
export const loosely = (manifest: unknown, parts?: object): DefinedManifest =>
  defineManifest(manifest as Manifest, parts)

/** The rules of a manifest's policies. */
export const rulesIn = ({ policies }: Pick<DefinedManifest, 'policies'>): readonly PolicyRule[] =>
  policies.flatMap((policy) => policy())

/** A limiter of a manifest's policies, in memory. */
export const limiterOf = (
  { policies }: Pick<DefinedManifest, 'policies'>,
  options: SetUpOptions = {},
): Limiter => setUp(policies, options).limiter
