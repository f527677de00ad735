// The response to a decision
export { withHeaders } from './headers/add-headers.ts'
export { rateLimitHeaders, type HeaderStyle } from './headers/headers.ts'
export { denialBody, tooManyRequests } from './answers/too-many-requests.ts'
export type { DenialBody, DenialOptions, SpentOptions } from './answers/too-many-requests.ts'
export type { DenialFormat } from './answers/format.ts'

// Limits around a handler of the fetch shape
export { rateLimit, type FetchHandler } from './fetch-adapter.ts'
export type { ChargingCost, RequestReservation } from './guard/charging-cost.ts'
export { decisionOf } from './guard/decision-of.ts'
export { limitGuesses, type GuessLimit } from './guess-limit.ts'
export { reservationOf, reserving, type ReservingOptions } from './guard/reserving.ts'
export { refuse, Refusal, type RefusalOptions } from './answers/refusal.ts'
export type { Route, RouteCost, RouteInput, RouteMatcher, RouteOptions } from '../routes/matcher.ts'

// For adapters: `createGuard` does the work, `compileRoutes` finds the route
export { createGuard, respond } from './guard/guard.ts'
export type { AllowOutcome, Guard, GuardOutcome } from './guard/guard.ts'
export type { CallInFlight } from './guard/call-in-flight.ts'
export type { AdapterOptions, GuardHooks, GuardOptions } from './guard/guard-options.ts'
export type { ResolvedSubject, SubjectResolver } from './guard/subject-resolver.ts'
export type { LimiterSource } from './guard/context.ts'
export { compileRoutes } from '../routes/matcher.ts'
