// The response to a decision
export { rateLimitHeaders, withHeaders } from './headers.ts'
export type { HeaderStyle } from './headers.ts'
export { denialBody, tooManyRequests } from './too-many-requests.ts'
export type { DenialBody, DenialOptions } from './too-many-requests.ts'
export type { DenialFormat } from './format.ts'

// Limits around a handler of the fetch shape
export { rateLimit } from './fetch-adapter.ts'
export type { FetchHandler } from './fetch-adapter.ts'
export { limitGuesses } from './guess-limit.ts'
export type { Guess, GuessLimit } from './guess-limit.ts'
export { refuse, Refusal } from './refusal.ts'
export type { RefusalOptions } from './refusal.ts'
export type { Route, RouteCost, RouteInput, RouteMatcher, RouteOptions } from '../routes/matcher.ts'

// For adapters: `createGuard` does the work, `compileRoutes` finds the route
export { createGuard } from './guard.ts'
export type { Guard, GuardHooks, GuardOutcome } from './guard.ts'
export type { AdapterOptions, GuardOptions } from './guard-options.ts'
export type { ResolvedSubject, SubjectResolver } from './subject-resolver.ts'
export { assertMaxDelay, delay } from './delay.ts'
export type { KeepLimiter, LimiterSource } from './context.ts'
export { createHandoff, HANDOFF_HEADER } from './handoff.ts'
export type { Handoff, HandoffClaim, HandoffOptions, HandoffTerms } from './handoff.ts'
export { compileRoutes } from '../routes/matcher.ts'
