import type { Cost, Limiter, Subject } from '@sluice/core'
import type { LimiterFor } from './worker.ts'

/** The longest delay that a queue takes, in seconds: 12 hours. */
const MAX_DELAY_SECONDS = 43_200

/** Options of `rateLimitQueue`. */
export interface QueueOptions<Env, Body> {
  /** Whose message it is. */
  readonly subject: (message: Message<Body>, env: Env) => Subject
  /** What handling it costs. @default 1 request */
  readonly cost?: (message: Message<Body>, env: Env) => Cost
}

/**
 * A queue consumer that handles messages only as fast as the limits allow: a message that is denied
 * goes back to the queue with the decision's delay, and is tried again then. One whose cost can never
 * fit goes back with the longest delay, and so, by the queue's own `max_retries`, to its dead-letter
 * queue. A handled message is acknowledged; one whose handler throws is retried as the queue is set to.
 *
 * @example
 * export default { queue: rateLimitQueue(limiterFor, { subject: ({ body }) => body.subject }, handle) }
 */
export function rateLimitQueue<Env extends object, Body>(
  limiterFor: LimiterFor<Env>,
  options: QueueOptions<Env, Body>,
  handle: (message: Message<Body>, env: Env, ctx: ExecutionContext) => Promise<void>,
): (batch: MessageBatch<Body>, env: Env, ctx: ExecutionContext) => Promise<void> {
  const limiters = new WeakMap<Env, Limiter>()
  return async (batch, env, ctx) => {
    const limiter = limiters.get(env) ?? limiterFor(env)
    limiters.set(env, limiter)
    for (const message of batch.messages) {
      const cost = options.cost?.(message, env)
      const decision = await limiter.check(
        options.subject(message, env),
        cost === undefined ? {} : { cost },
      )
      if (!decision.allowed) {
        const seconds = Math.ceil((decision.retryAfterMs ?? Infinity) / 1000)
        message.retry({ delaySeconds: Math.min(MAX_DELAY_SECONDS, Math.max(1, seconds)) })
        continue
      }
      try {
        await handle(message, env, ctx)
        message.ack()
      } catch (error) {
        console.error('A queued message failed and is retried:', error)
        message.retry()
      }
    }
  }
}
