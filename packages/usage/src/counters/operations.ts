import type { OperationKind } from '@sluice/core'
import { ADD } from './add/operation.ts'
import { READ } from './read-counters.ts'
import { REMOVE } from './remove-counters.ts'

/**
 * The operations of usage, for a store that finds operations by name, as one in Durable Objects does.
 *
 * @example
 * export class Limits extends LimitsObject {
 *   protected override readonly own = { operations: usageOperations }
 * }
 */
export const usageOperations: readonly OperationKind<unknown>[] = [
  ADD,
  READ,
  REMOVE,
] as readonly object[] as readonly OperationKind<unknown>[]
