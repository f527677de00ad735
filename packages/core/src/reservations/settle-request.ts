import type { Settlement, SettlementTwins } from '../algorithms/algorithm.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { StoreRequest } from '../stores/store.ts'

/** The correction of one charge. The mark says how much was charged, and where. */
export interface Correction extends Pick<
  Settlement,
  'id' | 'limit' | 'burst' | 'params' | 'actual'
> {
  readonly policy: PolicyRule
  /** The position of `policy` among the limiter's. */
  readonly index: number
  /** Its position among those of the limiter that reserved. */
  readonly markIndex: number
  readonly key: string
  /** Units charged, as far as the caller knows. */
  readonly reserved: number
}

/** The result of settling: the units charged by each correction (below 0: given back), or the earlier settlement. */
export type SettleResult = SettledNow | SettledBefore

interface SettledNow {
  readonly applied: readonly number[]
  /** True if all of it had been given back before, by a release. */
  readonly wasReleased: boolean
}

/** An earlier settlement, as it has noted itself in the mark. */
export interface SettledBefore extends Pick<SettledNow, 'wasReleased'> {
  /** The units that it has charged, by position in the limiter that reserved. */
  readonly before: ReadonlyMap<number, number>
  /** Its `attempt`. */
  readonly attempt: string
}

/** Charges to correct in one step. */
export interface SettleRequest extends Pick<
  StoreRequest,
  'policies' | 'id' | 'now' | 'clockIsInjected'
> {
  /** The key of the mark. If the mark is gone, nothing is done. */
  readonly mark: string
  /** At most one for each key. */
  readonly corrections: readonly Correction[]
  /** True if the charges were made in this process's memory. */
  readonly isLocal: boolean
  /** The key of the list of open reservations to remove it from. */
  readonly openKey?: string | undefined
  /** The id of this attempt, which it leaves in the mark: who got no answer finds out that it was made. */
  readonly attempt: string
  /** True to release it: a later settlement charges what was used. */
  readonly isRelease: boolean
}

/** Returns the twins that correct the charges of a policy. */
export type SettlementOf = (policy: PolicyRule) => SettlementTwins

/** The time for which a released reservation can be settled late, in milliseconds. */
export const RELEASED_MS = 86_400_000

/** The time for which a settlement is remembered, so that one whose reply was lost can be repeated, in milliseconds. */
export const SETTLED_MS = 60_000

/** The mark of a released reservation begins with it. */
export const RELEASED = 'r'
