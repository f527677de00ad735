// The response to a decision
export { withHeaders } from './add-headers.ts'
export { rateLimitHeaders } from './headers.ts'
export type { HeaderStyle } from './headers.ts'
export { denialBody, tooManyRequests } from './too-many-requests.ts'
export type { DenialBody, DenialOptions } from './too-many-requests.ts'
export type { DenialFormat } from './format.ts'

// Limits around a handler of the fetch shape
export { rateLimit } from './fetch-adapter.ts'
export type { FetchHandler } from './fetch-adapter.ts'
export type { ChargingCost, RequestReservation } from './charging-cost.ts'
export { decisionOf } from './decision-of.ts'
export { limitGuesses } from './guess-limit.ts'
export type { GuessLimit } from './guess-limit.ts'
export { reservationOf, reserving } from './reserving.ts'
export type { ReservingOptions } from './reserving.ts'
export { refuse, Refusal } from './refusal.ts'
export type { RefusalOptions } from './refusal.ts'
export type { Route, RouteCost, RouteInput, RouteMatcher, RouteOptions } from '../routes/matcher.ts'

// For adapters: `createGuard` does the work, `compileRoutes` finds the route
export { createGuard, respond } from './guard.ts'
export type { AllowOutcome, Guard, GuardOutcome } from './guard.ts'
export type { CallInFlight } from './call-in-flight.ts'
export type { AdapterOptions, GuardHooks, GuardOptions } from './guard-options.ts'
export type { ResolvedSubject, SubjectResolver } from './subject-resolver.ts'
export type { LimiterSource } from './context.ts'
export { compileRoutes } from '../routes/matcher.ts'
