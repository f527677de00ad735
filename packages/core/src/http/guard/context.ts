import type { WaitUntil } from '../../internal/background.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { invalidOption } from '../../internal/validation.ts'

/** A limiter, or a function that creates it at the first request; its result is kept. */
export type LimiterSource<Context extends unknown[] = []> =
  Limiter | ((...context: Context) => Limiter)

/** Wraps a function that creates a limiter, so that the limiter is kept. */
export type KeepLimiter<Context extends unknown[]> = (
  make: (...context: Context) => Limiter,
) => (...context: Context) => Limiter

/** Keeps the first limiter, whatever the context: most platforms pass a new one for each request. */
export function keepFirst<Context extends unknown[]>(
  make: (...context: Context) => Limiter,
): (...context: Context) => Limiter {
  let limiter: Limiter | undefined
  return (...context) => (limiter ??= make(...context))
}

/**
 * Returns a function that finds the limiter for a context.
 *
 * @param option The name of the option, for the error.
 * @throws ConfigError When `source` is neither a limiter nor a function.
 */
export function limiterFrom<Context extends unknown[]>(
  option: string,
  source: LimiterSource<Context>,
  keep: KeepLimiter<Context> = keepFirst,
): (...context: Context) => Limiter {
  if (typeof source === 'function') return keep(source)
  if (typeof source?.check === 'function') return () => source
  throw invalidOption(option, 'must be a limiter or a function that creates one', source)
}

/** A platform's object that keeps work running past the response, such as a Worker's `ctx`. */
interface PlatformContext {
  waitUntil: WaitUntil
}

/** Returns the `waitUntil` of the last value that a platform passes beside the request, if it has one. */
export function waitUntilOf(context: readonly unknown[]): WaitUntil | undefined {
  const last = context.at(-1) as Partial<PlatformContext> | null | undefined
  if (typeof last?.waitUntil !== 'function') return undefined
  // Called on its object: platforms refuse a `waitUntil` that was detached from it.
  const owner = last as PlatformContext
  return (promise) => owner.waitUntil(promise)
}
