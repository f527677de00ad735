// Limiters
export { createLimiter, type Limiter } from './limiter/limiter.ts'
export type { CheckOptions, ExtensionCall } from './limiter/call.ts'
export type { ResetOptions } from './limiter/reset.ts'
export type { LimiterOptions } from './limiter/options.ts'
export { definitionOf, type LimiterDefinition } from './limiter/runtime.ts'
export { localShare } from './stores/local-share.ts'
export type { LocalShare, OnStoreError } from './stores/fallback.ts'

// Policies
export { slidingWindow, type SlidingWindowOptions } from './policies/sliding-window.ts'
export { slidingWindows, type SlidingWindowsOptions } from './policies/sliding-windows.ts'
export { projectLimits, type ProjectLimitsOptions } from './policies/project-limits.ts'
export { slidingWindowCounter } from './policies/sliding-window-counter.ts'
export type { SlidingWindowCounterOptions } from './policies/sliding-window-counter.ts'
export { tokenBucket, type TokenBucketOptions } from './policies/token-bucket.ts'
export { leakyBucket, type LeakyBucketOptions } from './policies/leaky-bucket.ts'
export { dailyCap, fixedWindow, monthlyCap } from './policies/fixed-window.ts'
export type { CapOptions, FixedWindowOptions } from './policies/fixed-window.ts'
export { sessionWindow, type SessionWindowOptions } from './policies/session-window.ts'
export { concurrency, type ConcurrencyOptions } from './policies/concurrency.ts'
export { rollout, type Rollout, type RolloutOptions } from './policies/rollout.ts'
export { backpressure } from './policies/backpressure.ts'
export type { Backpressure, BackpressureOptions } from './policies/backpressure.ts'
export type { Policy, PolicyOf, PolicyOptions, PolicyRule } from './policies/policy.ts'
export type { Burst, Limit, LimitContext, Units } from './policies/limit.ts'

// Plans
export { definePlans, type PlanLimits, type Plans } from './policies/plans.ts'

// Subjects and costs
export type { Per, Subject } from './subject.ts'
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
  Source,
  TriedChoice,
} from './decision.ts'

// Extensions and events
export { defineExtension } from './limiter/define-extension.ts'
export { listen, type ListenOptions } from './limiter/listen.ts'
export { extensionHandle } from './limiter/runtime.ts'
export { logProblem } from './limiter/problems.ts'
export type {
  Contribution,
  Extension,
  ExtensionContext,
  ExtensionHooks,
  ExtensionOptions,
  TrackedRecord,
} from './limiter/extensions.ts'
export type { WaitUntil } from './internal/background.ts'
export type { LimiterEvents, Listeners, Problem } from './limiter/events.ts'
export type { RecordCondition, Records, RecordWrite } from './limiter/records.ts'
export type { PolicySettings, SettingsLookup } from './limiter/resolve.ts'

// Algorithms and stores of your own
export { definePolicy } from './policies/define-policy.ts'
export { durationMs, type Duration } from './internal/duration.ts'
export type { AlgorithmConfig } from './policies/policy.ts'
export type {
  Algorithm,
  AlgorithmInput,
  Finding,
  LuaFragments,
  Settlement,
  SettlementTwins,
  StoredState,
  Traits,
} from './algorithms/algorithm.ts'
export { isChargeable } from './stores/decide-on.ts'
export { isDenied, isOutdated } from './stores/store.ts'
export type {
  Entry,
  Operation,
  OperationKind,
  RecordField,
  RecordRead,
  RecordValues,
  MarkedCharge,
  SettlementMark,
  StateMap,
  Store,
  StoreReply,
  StoreRequest,
  Verdict,
} from './stores/store.ts'

export type { LuaOperation, LuaOperationKind, LuaTwin } from './lua/twins.ts'

// Time
export { manualClock, type Clock, type ManualClock } from './clock.ts'

// Errors
export { ConfigError, InputError, SluiceError, StoreError } from './errors.ts'
export type { ConfigErrorCode, ErrorCode, InputErrorCode, StoreErrorCode } from './errors.ts'
