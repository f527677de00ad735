export { rateLimit } from './worker.ts'
export type { FetchHandler, LimiterFor, RateLimitOptions } from './worker.ts'
