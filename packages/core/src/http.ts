// Headers and bodies
export { rateLimitHeaders } from './http/headers.ts'
export type { HeaderStyle } from './http/headers.ts'
export { denialBody, tooManyRequests } from './http/body.ts'
export type { DenialBody, DenialOptions } from './http/body.ts'
export type { DenialFormat } from './http/format.ts'

// Handlers
export { rateLimit } from './http/fetch.ts'
export type { FetchHandler } from './http/fetch.ts'
export { limitGuesses } from './http/guess-limit.ts'
export type { Guess, GuessLimit } from './http/guess-limit.ts'
export { refuse, Refusal } from './http/refusal.ts'
export type { RefusalOptions } from './http/refusal.ts'
export type { Route, RouteCost, RouteInput, RouteMatcher, RouteOptions } from './routes/matcher.ts'

// What adapters are made of
export { createGuard } from './http/guard.ts'
export type { Guard, GuardHooks, GuardOutcome } from './http/guard.ts'
export type { AdapterOptions, GuardOptions } from './http/guard-options.ts'
export { withHeaders } from './http/headers.ts'
export type { ResolvedSubject, SubjectResolver } from './http/subject-resolver.ts'
export { hold, validMaxDelay } from './http/hold.ts'
export type { KeepLimiter, LimiterSource } from './http/context.ts'
export { createHandoff, HANDOFF_HEADER } from './http/handoff.ts'
export type { Handoff, HandoffOptions, HandoffTerms } from './http/handoff.ts'
export { compileRoutes } from './routes/matcher.ts'
export { aFunction, knownOptions, optionsObject } from './validate.ts'
