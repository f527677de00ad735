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
  /** Gives the charge back, because the request is somebody's. Never rejects. */
  giveBack(): Promise<unknown>
}

/**
 * Limits how many credentials may be guessed, by address say. Each request is charged 1 before its
 * credentials are looked at, and given it back when they are good. So no more than the limit are
 * looked at, at whatever concurrency; where it is spent, good ones are answered with 429, too.
 *
 * @param limiter A limiter, or a function that makes it at the first request (its result is kept).
 * @param subject Finds out whom to charge; for nobody, the request is not charged.
 * @throws ConfigError When one of them is malformed.
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
    // Where the store fails the charge stays, which is the safe side.
    giveBack: async () => decision.allowed && decision.cancel().catch(() => undefined),
  }
}
