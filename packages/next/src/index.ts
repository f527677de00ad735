export { rateLimit } from './middleware.ts'
export type { Middleware, RateLimitOptions } from './middleware.ts'
export { withRateLimit } from './route-handler.ts'
export type { RouteLimitOptions } from './route-handler.ts'
