import type { Decision } from '../decision.ts'
import type { CheckOptions } from '../limiter/call.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import type { LimiterSource } from './context.ts'
import type { SubjectResolver } from './subject-resolver.ts'
import { reserve } from '../reservations/reserve.ts'
import { assertFunction } from '../internal/validation.ts'

/** A limit on guesses, as the option `unauthenticated` takes it. */
export interface GuessLimit<Context extends unknown[] = []> {
  readonly limiter: LimiterSource<Context>
  readonly subject: SubjectResolver<Context>
  readonly charge: (limiter: Limiter, subject: Subject, options: CheckOptions) => Promise<Guess>
}

/** The charge of a request that may be a guess. */
export interface Guess {
  readonly decision: Decision
  /** Gives the charge back, because the credentials are valid. Never rejects. */
  giveBack(): Promise<unknown>
}

/**
 * Limits the number of guesses at credentials, for example by address. Each request is charged 1 before
 * its credentials are checked, and gets it back if they are valid. So at any concurrency, the credentials
 * of no more requests than the limit are checked. Once the limit is used up, valid credentials get a 429, too.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @param subject Finds the subject to charge, such as an address; without one, nothing is charged.
 * @throws ConfigError When an argument is malformed.
 * @example
 * rateLimit(limiter, {
 *   routes: ['/api/ai/**'],
 *   subject: tenantFromJwt,
 *   unauthenticated: limitGuesses(guesses, addressSubject({ from: 'cloudflare' })),
 * }, handle)
 */
export function limitGuesses<Context extends unknown[] = []>(
  limiter: LimiterSource<Context>,
  subject: SubjectResolver<Context>,
): GuessLimit<Context> {
  assertFunction('limitGuesses.subject', subject)
  return { limiter, subject, charge }
}

async function charge(limiter: Limiter, subject: Subject, options: CheckOptions): Promise<Guess> {
  const decision = await reserve(limiter, subject, { ...options, settleWithin: '1m' })
  return {
    decision,
    // If the store fails the charge stays: the safe side.
    giveBack: async () => decision.allowed && decision.cancel().catch(() => undefined),
  }
}
