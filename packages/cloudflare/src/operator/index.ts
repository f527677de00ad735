export { durableObjects } from '../durable-object/durable-objects.ts'
export type { DurableObjectsOptions, LimitsNamespace } from '../durable-object/durable-objects.ts'
export { operatorHandler, type OperatorOptions } from './operator-handler.ts'
export { remoteObjects, type RemoteObjectsOptions } from './remote-objects.ts'
