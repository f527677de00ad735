import type { Algorithm, Finding } from '../algorithms/algorithm.ts'
import type { PolicyReason, PolicyState } from '../decision.ts'
import type { DimensionOf, Per, Subject } from '../subject.ts'
import type { Backpressure } from './backpressure.ts'
import type { AnyLimitName, Burst, Limit, LimitContext } from './limit.ts'
import type { Plans } from './plans.ts'
import type { Mode, Rollout } from './rollout.ts'

/** Options that every policy has. */
export interface PolicyOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> {
  /** Unique in its limiter. Appears in keys, headers and denials. Letters, digits, `_`, `.`, `-`. */
  readonly name: string
  /** The units allowed per window: 0 allows nothing, `'unlimited'` counts nothing. */
  readonly limit: Limit<Name>
  /** The dimensions whose values each have a budget, such as `['tenant', 'route']`, or `'global'`. */
  readonly per: Partition
  /** The unit that is counted. @default 'request' */
  readonly unit?: Unit
  /** The owner of the budget, as denials name it (`X-RateLimit-Scope`). @default the dimensions of `per` joined by `+` */
  readonly scope?: string
  /** The ids of the routes that the policy applies to. Other requests are not counted. @default all */
  readonly routes?: readonly string[]
  /**
   * `'error'` throws an `InputError` if the subject lacks a dimension of `per`. `'skip'` leaves this policy
   * out, such as a policy per user for requests without a user. @default 'error'
   */
  readonly onMissing?: 'error' | 'skip'
  /**
   * `'shadow'` counts as if the policy were enforced, and never denies. A request that it would deny has
   * `fits: false` in the decision and emits the event `shadow`. @default 'enforce'
   */
  readonly mode?: Mode
  /** Counts or enforces the policy for some partitions only, created by `rollout`. @default all */
  readonly rollout?: Rollout
  /** A delay that grows as the limit is used up (`delayMs`), created by `backpressure`. @default none */
  readonly backpressure?: Backpressure
  /**
   * The number of parts that the limit is split into, each with its own key, so that requests do not wait
   * for the lock of one busy key. Each request counts in one stripe, at random. The limit is never
   * exceeded, but a stripe may be used up before the others. At most 64. @default 1
   */
  readonly stripes?: number
}

/** Replaces a policy's name and params in keys. Policies that share a key share one such object. */
export interface Keyspace {
  readonly name: string
  readonly params: readonly number[]
}

/**
 * A policy, created by a factory such as `slidingWindow`: one rule, or several that share keys.
 * `createLimiter` calls it; with `credits`, twice.
 *
 * It is a function because TypeScript infers calls that return functions last. Only then does it know
 * the limits of `plans` when it checks `({ plan }) => plan.rpm` in the same object.
 */
export interface Policy<
  out Dimension extends string = string,
  out Unit extends string = string,
  out Name extends string = AnyLimitName,
> {
  (): readonly PolicyRule[]
  /** For the compiler alone; never set. */
  readonly '~types'?:
    { readonly dimension: Dimension; readonly unit: Unit; readonly limit: Name } | undefined
}

/** The type of policy that a factory creates from options with these types. */
export type PolicyOf<
  Partition extends Per,
  Unit extends string | undefined,
  Name extends string,
  // Not a default of `Unit`: with one, TypeScript reports a misspelt option at `unit`.
> = Policy<DimensionOf<Partition>, undefined extends Unit ? 'request' : Unit & string, Name>

/** One rule of a policy: plain data, as the limiter and its stores use it. */
export interface PolicyRule {
  readonly name: string
  readonly limit: Limit
  /** `undefined` unless it is a bucket. */
  readonly burst: Burst | undefined
  /** The most units that the algorithm can count, given its window. */
  readonly maxUnits: number
  readonly per: Per
  readonly unit: string
  readonly scope: string
  readonly routes: readonly string[] | undefined
  readonly onMissing: 'error' | 'skip'
  readonly mode: Mode
  readonly rollout: Rollout | undefined
  readonly backpressure: Backpressure | undefined
  readonly stripes: number
  /** The reason of its denials. */
  readonly reason: PolicyReason
  /** The window in milliseconds: 31 days for a calendar month. */
  readonly windowMs: number
  readonly algorithm: Algorithm
  readonly params: readonly number[]
  readonly keyspace: Keyspace | undefined
  /** Numbers of each request that the algorithm needs, such as who asks. @default none */
  readonly numbers?: RequestNumbers | undefined
  /** The calendar by which its windows end: its numbers are of the time and not of who asks. @default none */
  readonly calendar?: RuleCalendar | undefined
  /** Set if it counts a balance, created by `credits`. @default none */
  readonly balance?: RuleBalance | undefined
  /** The rule whose run-time settings are also those of this one. @default none: its own */
  readonly follows?: PolicyRule
}

/** Numbers of a request that become part of its entry, beside its limit and cost. */
export interface RequestNumbers {
  /** The names of all numbers of an entry: `limit`, then these, `cost` at the end. Lua has them as variables. */
  readonly names: readonly string[]
  /**
   * Returns them: whole numbers up to 10^14, and facts for the rule itself.
   *
   * @param settings Those of its partition.
   * @throws InputError When the subject lacks something.
   */
  of(
    request: RequestFacts,
    settings: { readonly calendar?: CalendarSettings | undefined } | undefined,
  ): Readonly<Record<string, unknown>>
}

/** The facts of a request that numbers depend on. */
export interface RequestFacts {
  readonly subject: Subject
  readonly limits: LimitContext
  /** The caller's time, in epoch ms. */
  readonly now: number
  /** The time within which the cost will be settled, in milliseconds: 0 if it is final. */
  readonly holdMs: number
  readonly report: (problem: CalendarProblem) => void
}

/** A calendar that could not be computed as it is given. */
interface CalendarProblem {
  readonly code: 'calendar_unknown'
  readonly message: string
  readonly source?: 'subject'
}

/** The calendar of a partition that is set at run time. */
export interface CalendarSettings {
  readonly zone?: string | undefined
  readonly anchor?: string | undefined
}

/** A calendar in a rule, created by `calendar`. */
export interface RuleCalendar {
  /** The names of the numbers by which a settlement finds a period. */
  readonly times: readonly string[]
  /** Returns these numbers of an entry. */
  timesOf(entry: object): Readonly<Record<string, number>>
  /**
   * Takes the verdict on an entry, if there is one, and the store's time. Returns true if the store has found no end for its
   * time among the entry's numbers: they are computed anew for it.
   */
  learn(
    entry: object,
    verdict: Finding | undefined,
    storeTime: number,
    asked: RequestFacts,
  ): boolean
  /** Returns the end of a period, in so many ms, as local time with its zone; `undefined` if it is not known. */
  resetsAt(entry: object, now: number, resetMs: number): string | undefined
  /** The time zone of its periods; `undefined` if it is that of each subject. */
  readonly zone: string | undefined
  /** True if it is the same for all partitions and never changes. */
  readonly isFixed: boolean
  /** Notes that the calendar of a partition may change by a setting: the last end of a period is then kept for another. */
  allowSettings(): void
  /** @throws ConfigError When it is no setting of a partition's calendar. */
  assertSetting(option: string, setting: keyof CalendarSettings, value: unknown): void
}

/** The part of a rule that only a balance has. */
interface RuleBalance {
  /**
   * Called by `createLimiter`, which lets policies with one `keyspace` share keys.
   *
   * @throws ConfigError Unless a limiter denies while its store fails, counts the balance in one policy, and has plans that
   *   include money.
   */
  accept(options: {
    readonly onStoreError?: unknown
    readonly policies: readonly Policy[]
    readonly plans?: Plans
  }): void
  /** Returns a state with the facts that only a balance has. @param available The units that were there. */
  of(state: PolicyState, available: number): PolicyState
  /** Called by a reset that names the rule. @throws ConfigError Always: it is money. */
  refuseReset(): void
}

/** The part of a policy that its factory determines. */
export interface AlgorithmConfig<State> {
  readonly algorithm: Algorithm<State>
  /** The algorithm's numbers. Keys contain them: a policy that changes them starts anew. */
  readonly params: readonly number[]
  /** The window in milliseconds. */
  readonly windowMs: number
  /** The reason of its denials. @default 'rate_limit_exceeded' */
  readonly reason?: PolicyReason
  /** The most units at once, if it is a bucket. */
  readonly burst?: Burst
  /** The most units that it can count exactly. @default 10^14 */
  readonly maxUnits?: number
  /** The start of its keys. @default the policy's name and params */
  readonly keyspace?: Keyspace
  readonly numbers?: RequestNumbers
  readonly calendar?: RuleCalendar
  readonly balance?: RuleBalance
}
