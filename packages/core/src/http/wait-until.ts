import type { CheckOptions } from '../limiter/limiter.ts'

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
