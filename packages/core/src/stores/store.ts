import type { AlgorithmInput, Finding } from '../algorithms/algorithm.ts'
import type { Degraded, Source } from '../decision.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Operation } from './operation.ts'
import type { SettlementMark } from './settlement-mark.ts'
import { StoreError, type StoreErrorCode } from '../errors.ts'
import { invalidOption } from '../internal/validation.ts'

export type { Operation, OperationKind, StateMap } from './operation.ts'
export type { MarkedCharge, MarkKind, SettlementMark } from './settlement-mark.ts'

/** One policy's part in a store call: its key and its numbers. */
export interface Entry extends AlgorithmInput {
  readonly policy: PolicyRule
  /** The position of `policy` in the request's `policies`. */
  readonly index: number
  readonly key: string
  /** True if a cost that does not fit is denied. False for a shadow, which only observes. */
  readonly enforced: boolean
  /** The place that counts it, once a store over places has found it. */
  readonly place?: string
}

/** One decision for a store to make. */
export interface StoreRequest {
  /** All policies of the limiter: the same frozen list in each request. */
  readonly policies: readonly PolicyRule[]
  /** The policies that take part, in their order. Policies of one `keyspace` have the same key. */
  readonly entries: readonly Entry[]
  /** True to charge every entry if all enforced ones fit. False to write nothing. */
  readonly apply: boolean
  /** The caller's time in epoch ms. */
  readonly now: number
  /** True to decide by `now`, as in tests, even if the store has a clock of its own. */
  readonly clockIsInjected: boolean
  /** The machine's time when the decision began (epoch ms). The store's deadline counts from it. */
  readonly startedAt: number
  /** Fields of records to read in the same step, such as a tenant's plan. One with another value than it `is` here stops the charge. */
  readonly reads: readonly RecordRead[]
  /** Identifies the charges. Letters and digits. */
  readonly id: string
  /** The mark to write with the charges if they may be settled later. */
  readonly mark?: SettlementMark | undefined
  /** A range to grant the most of that fits. The entries' costs are those of its floor. */
  readonly fit?: Fit | undefined
  /** Several decisions, of which to make the first that fits. A store that does not know them makes the first. */
  readonly alternatives?: Alternatives | undefined
  /** The error with which the store has just failed this decision. It is then not called again. */
  readonly failure?: unknown
}

/** One of several decisions, of which a store makes the first that fits, and no other. */
export type Alternative = Pick<StoreRequest, 'id' | 'entries' | 'mark' | 'fit'>

/** Several decisions, of which a store makes the first that fits: plain data, and its functions. */
export interface Alternatives {
  readonly kind: AlternativesKind
  /** In their order. The first has the `entries` of the request itself. */
  readonly all: readonly Alternative[]
  /** The verdicts on those that are known to be denied, by position: a store around a store adds what it knows. */
  readonly denied: Map<number, readonly Verdict[]>
}

/** The functions of `Alternatives`. Only code that uses them loads it. */
export interface AlternativesKind {
  /**
   * Returns the step that makes the first decision that fits. `undefined` if a store around the one that asks has replaced the
   * entries of the request: then that is asked for one alternative after the other.
   */
  operation(request: StoreRequest): Operation<StoreReply> | undefined
  /**
   * Returns the alternatives with the places of their entries, for a store over places. `undefined` as for `operation`, if units
   * on lease serve one of them, or if the first has no entries, and so no place.
   *
   * @throws ConfigError When they are counted in several places.
   */
  within(
    request: StoreRequest,
    places: Readonly<Record<'factory' | 'shardBy', string>> & {
      readonly ofKey: (key: string) => string
    },
  ): Alternatives | undefined
  /** Returns the request with `change` made in each of them. */
  each(request: StoreRequest, change: (one: Alternative) => Alternative): StoreRequest
  /** Returns them as data, for a store that sends them to its place. `undefined` as for `operation`. */
  data(request: StoreRequest, dataOf: (one: Alternative) => object): object | undefined
  /**
   * Notes those for which `find` returns a denial.
   *
   * @returns A denial if all of them are denied.
   */
  known(
    request: StoreRequest,
    find: (one: StoreRequest) => StoreReply | undefined,
  ): StoreReply | undefined
}

/** A range of quantities, such as output tokens, of which a decision grants the largest that fits: plain data, and its functions. */
export interface Fit<Data = unknown> {
  readonly kind: FitKind<Data>
  readonly floor: number
  readonly most: number
  readonly data: Data
}

/** The functions of a kind of `Fit`. Only code that uses one loads it. */
export interface FitKind<Data = unknown> {
  readonly name: string
  /** Returns the quantity to grant if the floor fits. */
  grant(fit: Fit<Data>, entries: readonly Entry[], findings: readonly Finding[]): number
  /**
   * Returns the entries with the cost of the quantity granted: by a store that does not know `fit` the floor, and without
   * any store the most. A shadow's cost is as if it were enforced, so no grant exceeds its limit.
   */
  charge<E extends Entry>(fit: Fit<Data>, entries: readonly E[], reply: FitReply): readonly E[]
}

/** The part of a store's answer from which the units charged are known. */
interface FitReply extends Pick<StoreReply, 'granted'> {
  readonly verdicts: readonly Finding[]
}

/** The address of one field of a record: a small named value beside the counts (in Redis, of a hash). */
export interface RecordField {
  readonly key: string
  readonly field: string
}

/** A field to read with a decision. */
export interface RecordRead extends RecordField {
  /** The value on which the decision rests, empty for none. With another one the store charges nothing. @default any */
  readonly is?: string | undefined
}

/** The values of a record by field, as a store in memory holds them. */
export type RecordValues = ReadonlyMap<string, string>

/** A store's answer for one entry: the algorithm's finding, and what was charged. */
export interface Verdict extends Finding {
  /** True if the cost was charged. False if it is 0. */
  readonly charged: boolean
}

/** A store's answer to a request. */
export interface StoreReply {
  readonly source: Source
  /** The name of the place that decided, if the store has several. */
  readonly place?: string | undefined
  /** The time of the decision, in epoch ms. */
  readonly now: number
  /** One for each entry, in the order of the request. */
  readonly verdicts: readonly Verdict[]
  /** The values of `reads`, in the order of the request. */
  readonly values: readonly (string | undefined)[]
  /** The quantity granted to a request with a `fit`. Means nothing if the request is denied. */
  readonly granted?: number | undefined
  /** With `alternatives`, the position of the one that this answers: the one charged, or of a denial the one that fits soonest. */
  readonly choice?: number | undefined
  /** The verdicts on each alternative that was tried, in their order. */
  readonly tried?: readonly (readonly Verdict[])[] | undefined
  /** Set if the store failed and another answered. Has no verdicts in the modes `allow` and `deny`. */
  readonly degraded?: Degraded | undefined
  /** The failure to report if this store has answered for one that failed. */
  readonly problem?: StoreProblem
}

/** A failure of a store, for the event `problem`. Its message contains no key, id or credential. */
export interface StoreProblem {
  readonly code: StoreErrorCode
  readonly message: string
  /** The name of the place that failed, if the store has several. */
  readonly place?: string | undefined
  readonly error?: unknown
}

/**
 * The place where counts live. A store may wrap another store.
 *
 * @example See `docs/extending.md`, which builds one.
 */
export interface Store {
  /** The time limit of one call, in milliseconds, if it has one. */
  readonly timeoutMs?: number | undefined
  /**
   * Called by `createLimiter`.
   *
   * @throws ConfigError When it cannot count one of these policies.
   */
  readonly accept?: ((policies: readonly PolicyRule[]) => void) | undefined
  /** Returns the place that decides a request, or `undefined` if several take part. For a store that has several. */
  readonly placeOf?: ((request: StoreRequest) => string | undefined) | undefined
  /**
   * In one atomic step: evaluates all entries; if every enforced one fits and `apply` is set, charges each key once. A key
   * on which all policies are shadows is charged only if all of them fit.
   *
   * @throws StoreError When no valid answer comes back. The charge may have been made.
   */
  check(request: StoreRequest): Promise<StoreReply>
  /**
   * Runs an operation in one atomic step.
   *
   * @throws StoreError When no valid answer comes back. The operation may have run.
   */
  run<Result>(operation: Operation<Result>): Promise<Result>
  /** Removes these keys, counts and records alike. @throws StoreError When they may still be there. */
  reset(keys: readonly string[]): Promise<void>
}

/** Returns `value` if it is a store. @throws ConfigError Otherwise. */
export function assertStore(option: string, value: unknown): Store {
  const { check, run, reset } = (value ?? {}) as Partial<Store>
  if ([check, run, reset].every((method) => typeof method === 'function')) return value as Store
  throw invalidOption(option, 'must be a store, such as upstash() or memory()', typeof value)
}

/** Creates the error of an answer that a store cannot have given. */
export const badReply = (status?: number): StoreError =>
  new StoreError('store_bad_reply', 'The store sent an invalid reply', status)

/** Returns the alternatives of a request. `undefined` if a store around has replaced its entries, which are then asked alone. */
export const alternativesOf = ({
  alternatives,
  entries,
}: StoreRequest): Alternatives | undefined =>
  alternatives?.all[0]?.entries === entries ? alternatives : undefined

/** Returns the decisions of a request: its alternatives, or itself. */
export const decisionsOf = (request: StoreRequest): readonly Alternative[] =>
  alternativesOf(request)?.all ?? [request]

/** Returns true if a record is not as the decision expects, so nothing may be charged. */
export const isOutdated = (reads: readonly RecordRead[], values: StoreReply['values']): boolean =>
  reads.some(({ is }, at) => is !== undefined && is !== (values[at] ?? ''))

/** Returns true if an enforced entry does not fit. For stores that run the algorithms' TypeScript. */
export function isDenied(entries: readonly Entry[], findings: readonly Finding[]): boolean {
  return entries.some(({ enforced }, index) => enforced && findings[index]?.fits !== true)
}
