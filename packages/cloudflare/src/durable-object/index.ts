export { durableObjects } from './durable-objects.ts'
export type { DurableObjectsOptions } from './durable-objects.ts'
export { LimitsObject } from './limits-object.ts'
