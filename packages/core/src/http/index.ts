// Headers and bodies
export { rateLimitHeaders } from './headers.ts'
export type { HeaderStyle } from './headers.ts'
export { denialBody, tooManyRequests } from './body.ts'
export type { DenialBody, DenialOptions } from './body.ts'
export type { DenialFormat } from './format.ts'

// Handlers
export { rateLimit } from './fetch.ts'
export type { FetchHandler } from './fetch.ts'
export { limitGuesses } from './guess-limit.ts'
export type { Guess, GuessLimit } from './guess-limit.ts'
export { refuse, Refusal } from './refusal.ts'
export type { RefusalOptions } from './refusal.ts'
export type { Route, RouteCost, RouteInput, RouteMatcher, RouteOptions } from '../routes/matcher.ts'

// What adapters are made of
export { createGuard } from './guard.ts'
export type { Guard, GuardHooks, GuardOutcome } from './guard.ts'
export type { AdapterOptions, GuardOptions } from './guard-options.ts'
export { withHeaders } from './headers.ts'
export type { ResolvedSubject, SubjectResolver } from './subject-resolver.ts'
export { hold, assertMaxDelay } from './hold.ts'
export type { KeepLimiter, LimiterSource } from './context.ts'
export { createHandoff, HANDOFF_HEADER } from './handoff.ts'
export type { Handoff, HandoffClaim, HandoffOptions, HandoffTerms } from './handoff.ts'
export { compileRoutes } from '../routes/matcher.ts'
