export { rateLimit, type Middleware, type RateLimitOptions } from './middleware.ts'
export { withRateLimit, type RouteLimitOptions } from './route-handler.ts'
