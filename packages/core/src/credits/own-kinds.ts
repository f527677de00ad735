import type { Algorithm } from '../algorithms/algorithm.ts'
import type { OperationKind } from '../stores/store.ts'
import { creditAlgorithm as algorithm } from '../algorithms/credits.ts'
import { GRANT, REVOKE, SETTLE_HOLD } from './change.ts'
import { PUT, READ } from './read.ts'
import { REMOVE } from './remove.ts'

/** The algorithm of credits, for the class of Durable Objects that counts them: see `docs/credits.md`. */
export const creditAlgorithm: Algorithm = algorithm as unknown as Algorithm

/** The operations of credits, for that class. */
export const creditOperations: readonly OperationKind<unknown>[] = [
  GRANT,
  REVOKE,
  SETTLE_HOLD,
  READ,
  PUT,
  REMOVE,
] as never
