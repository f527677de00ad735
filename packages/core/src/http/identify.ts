import type { CallerOrDenial } from './caller.ts'
import type { GuardHooks, GuardOptions } from './guard-options.ts'
import { waitUntilOf } from './context.ts'
import { isPreflight } from './preflight.ts'
import { Refusal, UNAUTHENTICATED } from './refusal.ts'

/**
 * Creates the first stage of whatever limits requests: it lets preflights pass, charges the limit on guesses,
 * finds the subject, and runs the pre-filter. The stage returns `undefined` for a preflight that passes.
 *
 * @example
 * const identify = createIdentify({ subject: tenantFromJwt, unauthenticated: limitGuesses(guesses, address) })
 * const caller = await identify('chat', request)
 * if (caller instanceof Refusal) return Response.json(caller.options, { status: caller.options.status })
 */
export function createIdentify<
  Context extends unknown[],
  PlatformRequest extends Request = Request,
>(
  {
    subject: findSubject,
    unauthenticated,
    preflight,
    waitUntil,
  }: Pick<
    GuardOptions<Context, PlatformRequest>,
    'subject' | 'unauthenticated' | 'preflight' | 'waitUntil'
  >,
  { keep, before }: Pick<GuardHooks<Context>, 'keep' | 'before'> = {},
) {
  const guardGuesses = unauthenticated?.around(keep)

  return async (
    route: string,
    request: PlatformRequest,
    ...context: Context
  ): Promise<CallerOrDenial | undefined> => {
    if (preflight === 'pass' && (await isPreflight(request))) return undefined
    const keepAlive = waitUntil ?? waitUntilOf(context)
    const find = async (): Promise<CallerOrDenial> => {
      const found = (await findSubject(request, ...context)) || UNAUTHENTICATED
      if (found instanceof Refusal) return found
      return { subject: { ...found, route }, waitUntil: keepAlive }
    }
    const caller = await (guardGuesses?.(find, route, request, keepAlive, ...context) ?? find())
    const refusal = 'subject' in caller && (await before?.(caller.subject, ...context))
    if (!refusal) return caller
    await caller.refund
    return refusal
  }
}
