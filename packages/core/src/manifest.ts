export { defineManifest } from './manifest/define.ts'
export type { DefinedManifest } from './manifest/define.ts'
export type {
  Manifest,
  ManifestPolicy,
  ManifestRoute,
  PlanLimit,
  PolicyOverride,
  PolicySpec,
} from './manifest/types.ts'
