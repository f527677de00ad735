import type { Cost, Decision, DeniedDecision, Limiter, Subject } from '@sluice/core'
import { InputError } from '@sluice/core'
import { assertMaxDelay, delay, limiterFrom } from '@sluice/core/internal/http'
import { assertFunction, assertKnownOptions } from '@sluice/core/internal'
import { perEnv, type LimiterFor } from './per-env.ts'

/** The longest delay that a queue accepts, in seconds: 12 hours. */
const MAX_DELAY_SECONDS = 43_200

/** The longest total delay of one batch, in milliseconds: a consumer ends after 15 minutes. */
const MAX_BATCH_DELAY_MS = 600_000

/** The delays while the store fails, in seconds. They grow, so that a long fault uses up few retries. */
const FIRST_STORE_DELAY_SECONDS = 10
const LONGEST_STORE_DELAY_SECONDS = 600

/** Options of `rateLimitQueue`. */
export interface QueueOptions<Env, Body> {
  /** Finds the subject of a message. */
  readonly subject: (message: Message<Body>, env: Env) => Subject | Promise<Subject>
  /** Finds the cost of handling a message. @default 1 request */
  readonly cost?: (message: Message<Body>, env: Env) => Cost | Promise<Cost>
  /**
   * The longest time for which an allowed message is delayed, in milliseconds, when its decision asks
   * for a delay (`delayMs`). All messages of a batch together are delayed ten minutes at most. A longer
   * delay is cut: the message is handled early. 0 never delays. @default 30_000
   */
  readonly maxDelayMs?: number
}

/**
 * Creates a queue consumer that handles messages only as fast as the limits allow.
 *
 * - A denied message goes back to the queue with the decision's delay, and is tried again then.
 * - A message that is denied because the store fails goes back with a delay that doubles with each of its
 *   attempts, from ten seconds to ten minutes.
 * - An allowed message that is to be delayed waits here, because going back would charge it again.
 * - A handled message is acknowledged.
 * - A message whose subject, cost or handler throws goes back as the queue is configured. The others
 *   are still handled.
 * - A message whose cost can never fit goes back with the longest delay.
 *
 * Each return counts against the queue's `max_retries`, also after a denial. A message beyond that goes
 * to the dead-letter queue: configure both.
 *
 * @param limiter A limiter, or a function that creates it for the Worker's bindings.
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * export default { queue: rateLimitQueue(limiterFor, { subject: ({ body }) => body.subject }, handle) }
 */
export function rateLimitQueue<Env extends object, Body>(
  limiter: Limiter | LimiterFor<Env>,
  options: QueueOptions<Env, Body>,
  handle: (message: Message<Body>, env: Env, ctx: ExecutionContext) => void | Promise<void>,
): (batch: MessageBatch<Body>, env: Env, ctx: ExecutionContext) => Promise<void> {
  assertKnownOptions('rateLimitQueue', options, ['subject', 'cost', 'maxDelayMs'])
  const { subject, cost } = options
  assertFunction('subject', subject)
  if (cost !== undefined) assertFunction('cost', cost)
  assertFunction('handle', handle)
  const maxDelayMs = assertMaxDelay('maxDelayMs', options.maxDelayMs)
  const limiterOf = limiterFrom<[Env]>('limiter', limiter, perEnv)

  async function check(message: Message<Body>, env: Env, ctx: ExecutionContext): Promise<Decision> {
    const waitUntil = (promise: Promise<unknown>): void => ctx.waitUntil(promise)
    const units: Cost | undefined = cost === undefined ? 1 : await cost(message, env)
    // Otherwise a function that forgets to return would be charged 1 request.
    if (units === undefined) throw new InputError('invalid_cost', 'cost', 'must not be undefined')
    return limiterOf(env).check(await subject(message, env), { cost: units, waitUntil })
  }

  return async (batch, env, ctx) => {
    let remainingMs = MAX_BATCH_DELAY_MS
    for (const message of batch.messages) {
      try {
        const decision = await check(message, env, ctx)
        if (decision.allowed) {
          const delayMs = Math.min(decision.delayMs, maxDelayMs, remainingMs)
          remainingMs -= delayMs
          await delay(delayMs)
          await handle(message, env, ctx)
          message.ack()
        } else {
          message.retry({ delaySeconds: delaySeconds(decision, message.attempts) })
        }
      } catch (error) {
        console.error('Sluice: A queued message failed and is retried:', error)
        message.retry()
      }
    }
  }
}

function delaySeconds({ reason, retryAfterMs }: DeniedDecision, attempts: number): number {
  if (reason === 'store_unavailable') {
    return Math.min(LONGEST_STORE_DELAY_SECONDS, FIRST_STORE_DELAY_SECONDS * 2 ** (attempts - 1))
  }
  const seconds = retryAfterMs === null ? MAX_DELAY_SECONDS : Math.ceil(retryAfterMs / 1000)
  return Math.min(MAX_DELAY_SECONDS, Math.max(1, seconds))
}
