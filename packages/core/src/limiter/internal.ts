// For the packages of this project alone: it may change in any release.
export { assertCost, costIn } from '../cost.ts'
export { adaptedLimitOf } from './adapted.ts'
export type { AdaptedLimit } from './adapted.ts'
export { assertSubject } from './call.ts'
export { writeOperation } from './records.ts'
export { onRoutes, policiesToReset } from './reset.ts'
export { runtimeOf } from './runtime.ts'
export type { LimiterRuntime } from './runtime.ts'
