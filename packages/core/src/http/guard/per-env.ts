import type { Limiter } from '../../limiter/limiter.ts'

/** Creates the limiter for a Worker's bindings. Called once per `env` object; its result is kept. */
export type LimiterFor<Env> = (env: Env) => Limiter

/**
 * Keeps one limiter for each `env`. Plain data at module scope: requests share the limiter, never a
 * promise.
 */
export function perEnv<Env extends object, Context extends unknown[]>(
  make: (env: Env, ...context: Context) => Limiter,
): (env: Env, ...context: Context) => Limiter {
  const limiters = new WeakMap<Env, Limiter>()
  return (env, ...context) => {
    const limiter = limiters.get(env) ?? make(env, ...context)
    limiters.set(env, limiter)
    return limiter
  }
}
