import type { Decision } from '../decision.ts'
import type { WaitUntil } from '../internal/background.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import type { KeepLimiter, LimiterSource } from './context.ts'
import type { SubjectResolver } from './subject-resolver.ts'
import { reserve } from '../reservations/reserve.ts'
import { runInBackground } from '../internal/background.ts'
import { assertFunction } from '../internal/validation.ts'
import { limiterFrom } from './context.ts'
import { orRefusal } from './input-refusal.ts'
import { Refusal } from './refusal.ts'

/** A limit on guesses, created by `limitGuesses`. */
export interface GuessLimit<Context extends unknown[] = []> {
  /** Creates the stage of a guard that charges each request as a guess, before its credentials are checked. */
  chargerWith(keep: KeepLimiter<Context>): GuessCharger<Context>
}

/** Charges a request as a guess. Resolves to `undefined` if there is no subject to charge. */
type GuessCharger<Context extends unknown[]> = (
  route: string,
  request: Request,
  waitUntil: WaitUntil | undefined,
  ...context: Context
) => Promise<Guess | Refusal | undefined>

/** The charge of a request that may be a guess. */
export interface Guess {
  readonly decision: Decision
  /**
   * Gives the charge back, because the credentials are valid. Returns a promise to await before the
   * response, unless the platform waits for it. Never rejects.
   */
  giveBack(): Promise<unknown> | undefined
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
  return {
    chargerWith(keep) {
      const limiterFor = limiterFrom('unauthenticated.limiter', limiter, keep)
      return async (route, request, waitUntil, ...context) => {
        const guesser = await subject(request, ...context)
        if (!guesser || guesser instanceof Refusal) return undefined
        return orRefusal(route, charge(limiterFor(...context), { ...guesser, route }, waitUntil))
      }
    },
  }
}

async function charge(
  limiter: Limiter,
  subject: Subject,
  waitUntil: WaitUntil | undefined,
): Promise<Guess> {
  const decision = await reserve(limiter, subject, { waitUntil, settleWithin: '1m' })
  return {
    decision,
    giveBack() {
      if (!decision.allowed) return undefined
      // If the store fails the charge stays: the safe side.
      const refund = decision.cancel().catch(() => undefined)
      if (waitUntil === undefined) return refund
      runInBackground(refund, waitUntil)
      return undefined
    },
  }
}
