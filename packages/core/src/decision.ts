import type { StoreErrorCode } from './errors.ts'

/** Why a policy denies. */
export type PolicyReason =
  'rate_limit_exceeded' | 'daily_quota_exceeded' | 'monthly_quota_exceeded' | 'concurrency_exceeded'

/**
 * Why a request is denied: a policy is spent, the cost is larger than a policy's limit and so can
 * never fit, or the store failed and the limiter is set to deny then.
 */
export type DenialReason = PolicyReason | 'cost_exceeds_limit' | 'store_unavailable'

/** One policy's state after a decision. */
export interface PolicyState {
  readonly name: string
  /** Whose budget is counted, such as `tenant` or `global`. */
  readonly scope: string
  /** What is counted, such as `request`. */
  readonly unit: string
  /** Units allowed per window. */
  readonly limit: number
  /** The most units at once: the limit, except of a bucket with a burst. */
  readonly burst: number
  /** Units left, after this decision; of a policy with `stripes`, in the part that was asked. */
  readonly remaining: number
  /** Units that were asked for. */
  readonly cost: number
  /** The window in milliseconds; of a calendar month, 31 days; of `concurrency`, `maxDuration`. */
  readonly windowMs: number
  /** Milliseconds until units in use come back: the end of a fixed window, the oldest entry's expiry in a sliding one. */
  readonly resetMs: number
  /** True if the cost fitted this policy. */
  readonly fits: boolean
  /** True if the cost was charged. */
  readonly charged: boolean
  /** True if it denies what does not fit; `false` of a shadow, which only tells. */
  readonly enforced: boolean
  /** Milliseconds to wait before the request goes on: its turn in a leaky bucket, or backpressure. */
  readonly delayMs: number
  /** Milliseconds until the cost fits this policy if nobody else spends: 0 if it does now, `null` if it never can. */
  readonly retryAfterMs: number | null
  /** Why this policy denies what does not fit. */
  readonly reason: PolicyReason
}

/** How a decision was made without the store. */
export interface Degraded {
  /** What failed. */
  readonly cause: StoreErrorCode
  /** What the limiter is set to do then (`onStoreError`). */
  readonly mode: 'allow' | 'deny' | 'local'
}

/**
 * Why a policy did not take part in a decision: it is for other routes, the subject lacks a dimension
 * of its `per`, it is not enabled for this partition, its limit is `'unlimited'`, or it has none until
 * one is configured.
 */
export type SkipReason =
  'other_route' | 'missing_dimension' | 'not_enabled' | 'unlimited' | 'unconfigured'

/** A policy that did not take part in a decision. */
export interface SkippedPolicy {
  readonly name: string
  readonly scope: string
  readonly why: SkipReason
}

/**
 * Where the plan of a decision comes from: the subject itself; the plans' resolver, now or less than
 * its `cacheFor` ago; the resolver, longer ago, because it is being asked again or does not answer; or
 * nowhere, so that it is the default plan.
 */
export type PlanSource = 'subject' | 'resolver' | 'stale' | 'default'

/** Who answered: the limiter's store, this process's memory, a cache of denials, or a lease. */
export type Source = 'store' | 'memory' | 'cache' | 'lease'

interface DecisionBase {
  /** The state of every policy that took part, in the limiter's order. Empty when degraded with mode `allow` or `deny`. */
  readonly policies: readonly PolicyState[]
  /** The policies that did not take part, and why. */
  readonly skipped: readonly SkippedPolicy[]
  /** The time of the decision by the store's clock, in milliseconds since the Unix epoch. */
  readonly at: number
  /** Who answered: the store, this process's memory, a cache of denials, or a lease. */
  readonly source: Source
  /** The plan whose limits applied, if the limiter has plans. */
  readonly plan: string | undefined
  /** Where that plan comes from, if the limiter has plans. */
  readonly planSource: PlanSource | undefined
  /** Set when the store could not be asked. */
  readonly degraded: Degraded | undefined
}

/** The request may go on; every policy has been charged. */
export interface AllowedDecision extends DecisionBase {
  readonly allowed: true
  readonly reason: undefined
  readonly violated: undefined
  readonly retryAfterMs: 0
  /** Milliseconds to hold the request before it goes on: the longest of its policies'. The adapters do. */
  readonly delayMs: number
}

/** The request must not go on; nothing has been charged. */
export interface DeniedDecision extends DecisionBase {
  readonly allowed: false
  readonly reason: DenialReason
  /**
   * The policy that bound: one that can never fit, else the first in the limiter's order that does
   * not fit now. `undefined` when the store failed. `policies` tells the others by `fits`.
   */
  readonly violated: PolicyState | undefined
  /** Milliseconds until this very cost fits every policy if nobody else spends; `null` if it never can. */
  readonly retryAfterMs: number | null
  readonly delayMs: 0
}

/** The answer to a check: a plain value, JSON-serialisable. */
export type Decision = AllowedDecision | DeniedDecision
