/* The entry `upstream`: what follows the state of an upstream, such as a model's provider. */
export type { UpstreamCallOptions } from './outcome.ts'
export { adaptiveLimit, type AdaptiveLimit, type AdaptiveLimitOptions } from './adaptive-limit.ts'
export {
  upstreamBreaker,
  type BreakerCallOptions,
  type FallbackReason,
  type UpstreamBreaker,
  type UpstreamBreakerOptions,
  type UpstreamCounts,
} from './upstream-breaker.ts'
