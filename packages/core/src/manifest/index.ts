export { defineManifest, type DefinedManifest } from './define.ts'
export type {
  Manifest,
  ManifestParts,
  ManifestPolicy,
  ManifestRoute,
  PlanLimit,
  PolicyOverride,
  PolicySpec,
} from './types.ts'
