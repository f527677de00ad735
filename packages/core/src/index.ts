// Limiters
export { createLimiter } from './limiter.ts'
export type {
  CheckOptions,
  Limiter,
  LimiterOptions,
  ReserveOptions,
  ResetOptions,
} from './limiter.ts'
export type { OnStoreError } from './stores/fallback.ts'

// Policies
export { slidingWindow } from './policies/sliding-window.ts'
export type { SlidingWindowOptions, SlidingWindowsOptions } from './policies/sliding-window.ts'
export { projectLimits } from './policies/project-limits.ts'
export type { ProjectLimitsOptions } from './policies/project-limits.ts'
export { slidingWindowCounter } from './policies/sliding-window-counter.ts'
export type { SlidingWindowCounterOptions } from './policies/sliding-window-counter.ts'
export { tokenBucket } from './policies/token-bucket.ts'
export type { TokenBucketOptions } from './policies/token-bucket.ts'
export { leakyBucket } from './policies/leaky-bucket.ts'
export type { LeakyBucketOptions } from './policies/leaky-bucket.ts'
export { dailyCap, fixedWindow, monthlyCap } from './policies/fixed-window.ts'
export type { FixedWindowOptions } from './policies/fixed-window.ts'
export { concurrency } from './policies/concurrency.ts'
export type { ConcurrencyOptions } from './policies/concurrency.ts'
export type { Policy, PolicyOptions } from './policy.ts'
export type { Burst, Limit, LimitContext } from './limit.ts'
export type { Mode, Rollout, RolloutOptions } from './rollout.ts'
export type { Backpressure } from './backpressure.ts'
export type { Duration } from './duration.ts'

// Plans
export { definePlans } from './plans/plans.ts'
export type { PlanLimits, Plans } from './plans/plans.ts'
export { planResolver } from './plans/plan-resolver.ts'
export type { PlanOf, PlanResolver, PlanResolverOptions } from './plans/plan-resolver.ts'

// Changes at run time
export { runtimeConfiguration } from './configuration/configuration.ts'
export type {
  RuntimeConfiguration,
  RuntimeConfigurationOptions,
} from './configuration/configuration.ts'
export type { ConfigurationChanges } from './configuration/configuration-changes.ts'
export type { Configured } from './configuration/configuration-document.ts'
export type { Setting, SettingChanges, Settings } from './configuration/settings.ts'

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
  PlanSource,
  PolicyReason,
  PolicyState,
  SkippedPolicy,
  SkipReason,
} from './decision.ts'
export type { Hooks, PolicyEvent, Problem } from './hooks.ts'

// Reservations
export type { Reservation, ReservationData, ReserveDecision, Settled } from './reservation.ts'

// Stores of your own
export type {
  Hold,
  SettleRequest,
  RecordCondition,
  RecordField,
  RecordWrite,
  Store,
  StoreReply,
  StoreRequest,
} from './store.ts'
export type { Algorithm, Entry, Settlement, Verdict } from './algorithm.ts'

// Time
export { manualClock } from './clock.ts'
export type { Clock, ManualClock } from './clock.ts'

// Errors
export { ConfigError, InputError, SluiceError, StoreError } from './errors.ts'
export type { ConfigErrorCode, ErrorCode, InputErrorCode, StoreErrorCode } from './errors.ts'
