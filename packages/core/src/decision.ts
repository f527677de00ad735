import type { StoreErrorCode } from './errors.ts'

/** The reason for which a policy denies. `quota_exceeded` is that of a calendar week or year. */
export type PolicyReason =
  | 'rate_limit_exceeded'
  | 'daily_quota_exceeded'
  | 'monthly_quota_exceeded'
  | 'quota_exceeded'
  | 'concurrency_exceeded'
  | 'credits_exhausted'

/**
 * The reason for a denial: a policy is used up; the cost is larger than a policy's limit and can never
 * fit; or the store failed, and the limiter is set to deny in that case.
 */
export type DenialReason = PolicyReason | 'cost_exceeds_limit' | 'store_unavailable'

/** One policy's state after a decision. */
export interface PolicyState {
  readonly name: string
  /** The policy's `scope`: the owner of the budget, such as `tenant` or `global`. */
  readonly scope: string
  /** The unit that is counted, such as `request`. */
  readonly unit: string
  /** Units allowed per window. Of `credits` the allowance of a period, or what was there if that is more. */
  readonly limit: number
  /** The most units at once: a bucket's burst, otherwise the limit. */
  readonly burst: number
  /** Units left after this decision. With `stripes`, in the stripe that counted this request. */
  readonly remaining: number
  /** Units that the request asked for. */
  readonly cost: number
  /** The window in milliseconds: 31 days for a calendar month, `length` for `sessionWindow`, or its `idle`, `maxDuration` for `concurrency`, 0 for `credits` without an allowance. */
  readonly windowMs: number
  /** Milliseconds until used units return: at the end of a fixed window, or when a sliding window's oldest entry expires. */
  readonly resetMs: number
  /**
   * The end of this period as local time with its zone (RFC 9557), such as `2026-12-01T00:00:00+01:00[Europe/Berlin]`.
   * `undefined` without a calendar.
   */
  readonly resetsAt?: string | undefined
  /** The address at which more can be bought, if the policy names one: an option of `credits`. */
  readonly topUpUrl?: string | undefined
  /** True if the cost fits this policy. */
  readonly fits: boolean
  /** True if the cost was charged. */
  readonly charged: boolean
  /** True if the policy denies what does not fit; false for a shadow, which only reports it. */
  readonly enforced: boolean
  /** Milliseconds to delay the request, because of a leaky bucket's queue or of backpressure. */
  readonly delayMs: number
  /** Milliseconds until the cost fits if nothing else is charged: 0 if it fits now, `null` if it never can. */
  readonly retryAfterMs: number | null
  /** The reason that a denial by this policy has. */
  readonly reason: PolicyReason
}

/** The cause and the mode of a decision that was made without the store. */
export interface Degraded {
  /** The store's failure. */
  readonly cause: StoreErrorCode
  /** The mode that decided, by the limiter's `onStoreError`. */
  readonly mode: 'allow' | 'deny' | 'local'
}

/**
 * The reason for which a policy takes no part in a decision: it applies to other routes, the subject
 * lacks a dimension of its `per`, it is not enabled for this partition, its limit is `'unlimited'`, or
 * its limit is yet to be configured.
 */
export type SkipReason =
  'other_route' | 'missing_dimension' | 'not_enabled' | 'unlimited' | 'unconfigured'

/** A policy that takes no part in a decision. */
export interface SkippedPolicy {
  readonly name: string
  readonly scope: string
  readonly why: SkipReason
}

/**
 * The origin of a decision's plan: `'subject'` names it itself; `'resolver'` has named it within its
 * `cacheFor`; `'stale'` is the resolver's previous answer, used while a new one is on its way or cannot be
 * had; `'default'` is the default plan.
 */
export type PlanSource = 'subject' | 'resolver' | 'stale' | 'default'

/** The origin of an answer: the store, this process's memory, a cache of denials, or a lease. */
export type Source = 'store' | 'memory' | 'cache' | 'lease'

/** The answer to one of several choices. */
export interface TriedChoice extends Pick<
  Decision,
  'allowed' | 'reason' | 'violated' | 'retryAfterMs'
> {
  /** The dimensions by which it differs, such as `{ model: 'small' }`. */
  readonly subject: Readonly<Record<string, string>>
}

interface DecisionBase {
  /** The state of every policy that took part, in the limiter's order. Empty if degraded to `allow` or `deny`. */
  readonly policies: readonly PolicyState[]
  /** The policies that took no part, each with the reason. */
  readonly skipped: readonly SkippedPolicy[]
  /** The time of the decision by the store's clock, in milliseconds since the Unix epoch. */
  readonly at: number
  /** The origin of the answer: the store, this process's memory, a cache of denials, or a lease. */
  readonly source: Source
  /** The name of the place that decided, if the store has several: that of a Durable Object, such as `tenant=acme`. */
  readonly place?: string | undefined
  /** The plan whose limits applied, if the limiter has plans. */
  readonly plan: string | undefined
  /** The origin of that plan, if the limiter has plans. */
  readonly planSource: PlanSource | undefined
  /** Set if the decision was made without the store. */
  readonly degraded: Degraded | undefined
  /**
   * With `choices`, the position of the one that this decision is about: the one charged, or of a denial the one that fits
   * soonest.
   */
  readonly choice?: number
  /** With `choices`, the answer to each that was tried, in their order: all of them for a denial and a `peek`. */
  readonly tried?: readonly TriedChoice[]
}

/** The request may proceed, and every policy has been charged. */
export interface AllowedDecision extends DecisionBase {
  readonly allowed: true
  readonly reason: undefined
  readonly violated: undefined
  readonly retryAfterMs: 0
  /** With `choices` that have a `fit`, the quantity that was granted, or of a `peek` would be. */
  readonly granted?: number
  /** Milliseconds to delay the request: the longest delay among its policies. Adapters do so. */
  readonly delayMs: number
}

/** The request must not proceed, and nothing has been charged. */
export interface DeniedDecision extends DecisionBase {
  readonly allowed: false
  readonly reason: DenialReason
  /**
   * The policy that denies: the first that the cost can never fit, otherwise the first that it does not
   * fit now. `undefined` if the store failed. The others in `policies` have `fits: false`.
   */
  readonly violated: PolicyState | undefined
  /** Milliseconds until this cost fits every policy if nothing else is charged; `null` if it never can. */
  readonly retryAfterMs: number | null
  readonly delayMs: 0
}

/** The answer to a check: a plain value that `JSON.stringify` accepts. */
export type Decision = AllowedDecision | DeniedDecision
