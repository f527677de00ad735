export { rateLimit } from './worker.ts'
export type {
  LimiterFor,
  RateLimitOptions,
  WorkerHandler,
  WorkerSubjectResolver,
} from './worker.ts'
export type { PrefilterOptions, RateLimitBinding } from './prefilter.ts'
export { rateLimitQueue } from './queue.ts'
export type { QueueOptions } from './queue.ts'
