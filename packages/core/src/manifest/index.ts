export { defineManifest, type DefinedManifest } from './define.ts'
export type {
  Manifest,
  ManifestPolicy,
  ManifestRoute,
  PlanLimit,
  PolicyOverride,
  PolicySpec,
} from './types.ts'
