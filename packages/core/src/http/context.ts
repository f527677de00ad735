import type { CheckOptions } from '../limiter/call.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { ConfigError } from '../errors.ts'

/** A limiter, or a function that makes it at the first request; its result is kept. */
export type LimiterSource<Context extends unknown[] = []> =
  Limiter | ((...context: Context) => Limiter)

/** Makes of a function that makes a limiter one that keeps it. */
export type KeepLimiter<Context extends unknown[]> = (
  make: (...context: Context) => Limiter,
) => (...context: Context) => Limiter

/** Keeps the first limiter, whatever the context: most platforms have a new one for each request. */
export function keepOne<Context extends unknown[]>(
  make: (...context: Context) => Limiter,
): (...context: Context) => Limiter {
  let only: Limiter | undefined
  return (...context) => (only ??= make(...context))
}

/** The limiter for a context, made at most once. @throws ConfigError When there is none to come. */
export function limiterOf<Context extends unknown[]>(
  option: string,
  source: LimiterSource<Context>,
  keep: KeepLimiter<Context>,
): (...context: Context) => Limiter {
  if (typeof source === 'function') return keep(source)
  if (typeof source?.check === 'function') return () => source
  throw new ConfigError('invalid_option', option, 'must be a limiter or a function that makes one')
}

/** What keeps a platform's work going past the response, such as a Worker's `ctx`. */
interface KeepsAlive {
  waitUntil(promise: Promise<unknown>): void
}

/** The `waitUntil` of the last thing that a platform passes beside the request, if it has one. */
export function waitUntilOf(context: readonly unknown[]): Pick<CheckOptions, 'waitUntil'> {
  const last = context.at(-1) as Partial<KeepsAlive> | null | undefined
  if (typeof last?.waitUntil !== 'function') return {}
  // Called as its own: platforms refuse one that is torn off its object.
  const owner = last as KeepsAlive
  return { waitUntil: (promise) => owner.waitUntil(promise) }
}
