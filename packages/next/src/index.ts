export { rateLimit } from './middleware.ts'
export type { Middleware, RateLimitOptions } from './middleware.ts'
