// Limiters
export { createLimiter } from './limiter.ts'
export type { CheckOptions, Limiter, LimiterOptions } from './limiter.ts'
export type { OnStoreError } from './stores/fallback.ts'

// Policies
export { slidingWindow } from './policies/sliding-window.ts'
export type { SlidingWindowOptions } from './policies/sliding-window.ts'
export { dailyCap, fixedWindow, monthlyCap } from './policies/fixed-window.ts'
export type { FixedWindowOptions } from './policies/fixed-window.ts'
export type { Limit, LimitContext, Policy, PolicyOptions } from './policy.ts'
export type { Duration } from './duration.ts'

// Plans
export { definePlans } from './plans.ts'
export type { PlanLimits, Plans } from './plans.ts'

// Subjects and costs
export type { CustomarySubject, Per, Subject } from './subject.ts'
export type { Cost } from './cost.ts'

// Decisions
export type {
  AllowedDecision,
  Decision,
  Degraded,
  DenialReason,
  DeniedDecision,
  PolicyReason,
  PolicyState,
} from './decision.ts'

// Stores of your own
export type { Store, StoreReply, StoreRequest } from './store.ts'
export type { Algorithm, Entry, Verdict } from './policy.ts'

// Time
export { manualClock } from './clock.ts'
export type { Clock, ManualClock } from './clock.ts'

// Errors
export { ConfigError, InputError, SluiceError, StoreError } from './errors.ts'
export type { ConfigErrorCode, ErrorCode, InputErrorCode, StoreErrorCode } from './errors.ts'
