// For the packages of this project alone: it may change in any release.
export { assertCost, costIn } from '../cost.ts'
export { assertSubject } from './call.ts'
export { writeOperation } from './records.ts'
export { onRoutes, policiesToReset } from './reset.ts'
export { runtimeOf } from './runtime.ts'
export type { LimiterRuntime } from './runtime.ts'
