import type { Algorithm } from '../algorithms/algorithm.ts'
import type { FitKind, MarkKind, OperationKind } from '../stores/store.ts'
import { invalidOption } from '../internal/validation.ts'
import { bucketAlgorithm } from '../algorithms/bucket.ts'
import { counterAlgorithm } from '../algorithms/counter.ts'
import { fixedWindowAlgorithm } from '../algorithms/fixed-window.ts'
import { sessionWindowAlgorithm } from '../algorithms/session-window.ts'
import { sharedLogAlgorithm } from '../algorithms/shared-log.ts'
import { slidingLogAlgorithm } from '../algorithms/sliding-log.ts'
import { slotsAlgorithm } from '../algorithms/slots.ts'
import { BLOCKS } from '../leases/block-fit.ts'
import { HELD } from '../leases/held-mark.ts'
import { WRITE } from '../limiter/records.ts'
import { RANGE } from '../reservations/fit.ts'
import { KEPT } from '../reservations/mark.ts'
import { FIND_DUE, RELEASED_LATER } from '../reservations/release-unsettled.ts'
import { SETTLE } from '../reservations/settle.ts'
import { RELEASE_SLOTS } from '../reservations/slot-release.ts'

/** Functions of your own, for a place that decides: it finds them by name. */
export interface OwnKinds {
  /** Algorithms of policies made with `definePolicy`, by their `id`. @default none */
  readonly algorithms?: readonly Algorithm[]
  /** Operations for `records.run`, by their `name`. @default none */
  readonly operations?: readonly OperationKind<unknown>[]
}

/** The functions that a place knows, by name. */
export interface Kinds {
  readonly algorithm: (id: string) => Algorithm
  readonly operation: (name: string) => OperationKind<unknown>
  readonly mark: (name: string) => MarkKind
  readonly fit: (name: string) => FitKind
}

/** A name that a place does not know, as one of an older deploy may not know that of a newer one. */
export class UnknownKind extends Error {}

const ALGORITHMS = [
  fixedWindowAlgorithm,
  slidingLogAlgorithm,
  sharedLogAlgorithm,
  counterAlgorithm,
  bucketAlgorithm('token-bucket'),
  bucketAlgorithm('leaky-bucket'),
  sessionWindowAlgorithm,
  slotsAlgorithm,
] as unknown as readonly Algorithm[]
const OPERATIONS = [WRITE, SETTLE, RELEASE_SLOTS, FIND_DUE]
const MARKS = [KEPT, RELEASED_LATER, HELD]
const FITS = [RANGE, BLOCKS]

/** Returns Sluice's own functions and `own`, by name. @throws ConfigError When two have one name. */
export function kindsOf({ algorithms = [], operations = [] }: OwnKinds = {}): Kinds {
  return {
    algorithm: finder('algorithm', [...ALGORITHMS, ...algorithms]),
    operation: finder('operation', [...OPERATIONS, ...operations] as OperationKind<unknown>[]),
    mark: finder('mark', MARKS as MarkKind[]),
    fit: finder('fit', FITS as FitKind[]),
  }
}

function finder<T extends { name: string } | { id: string }>(what: string, items: readonly T[]) {
  const byName = new Map<string, T>()
  for (const item of items) {
    const name = 'id' in item ? item.id : item.name
    if ((byName.get(name) ?? item) !== item) {
      throw invalidOption(what, `must not be a second one with the name "${name}"`)
    }
    byName.set(name, item)
  }
  return (name: string): T => {
    const item = byName.get(name)
    if (item !== undefined) return item
    throw new UnknownKind(`${what} "${name}"`)
  }
}
