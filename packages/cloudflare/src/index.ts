export { rateLimit } from './worker.ts'
export type {
  LimiterFor,
  RateLimitOptions,
  WorkerHandler,
  WorkerSubjectResolver,
} from './worker.ts'
export { limitByBinding } from './prefilter.ts'
export type { BindingLimitOptions, Prefilter, RateLimitBinding } from './prefilter.ts'
export { rateLimitQueue } from './queue.ts'
export type { QueueOptions } from './queue.ts'
