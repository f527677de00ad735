import type { CallerOrDenial } from './guard/caller.ts'
import type { SubjectResolver } from './guard/subject-resolver.ts'
import { reserve } from '../reservations/reserve.ts'
import { runInBackground, type WaitUntil } from '../internal/background.ts'
import { assertFunction } from '../internal/validation.ts'
import { limiterFrom, type KeepLimiter, type LimiterSource } from './guard/context.ts'
import { orRefusal } from './answers/input-refusal.ts'
import { Refusal } from './answers/refusal.ts'

/** A limit on guesses, created by `limitGuesses`. */
export interface GuessLimit<Context extends unknown[] = []> {
  /** Creates the stage that charges each request as a guess, before `find` checks its credentials. */
  around(keep: KeepLimiter<Context> | undefined): GuardGuesses<Context>
}

type GuardGuesses<Context extends unknown[]> = (
  find: () => Promise<CallerOrDenial>,
  route: string,
  request: Request,
  waitUntil: WaitUntil | undefined,
  ...context: Context
) => Promise<CallerOrDenial>

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
    around(keep) {
      const limiterFor = limiterFrom('unauthenticated.limiter', limiter, keep)
      return async (find, route, request, waitUntil, ...context) => {
        const guesser = await subject(request, ...context)
        if (!guesser || guesser instanceof Refusal) return find()
        // Before the credentials are checked, so that a guess beyond the limit learns nothing.
        const charge = reserve(
          limiterFor(...context),
          { ...guesser, route },
          { waitUntil, settleWithin: '1m' },
        )
        const guess = await orRefusal(route, charge)
        if (!guess.allowed) return guess
        const caller = await find()
        // Only wrong credentials are a guess; other refusals are not.
        if (caller instanceof Refusal && caller.options.status === 401) return caller
        // If the store fails the charge stays: the safe side.
        const cancelled = guess.cancel().catch(() => undefined)
        if (waitUntil) runInBackground(cancelled, waitUntil)
        const refund = waitUntil ? undefined : cancelled
        if (caller.allowed) return { ...caller, refund }
        await refund
        return caller
      }
    },
  }
}
