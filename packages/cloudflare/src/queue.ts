import type { Cost, Decision, DeniedDecision, Subject } from '@sluice/core'
import { InputError } from '@sluice/core'
import { assertMaxDelay, delay } from '@sluice/core/http'
import { assertFunction, assertKnownOptions } from '@sluice/core/validation'
import { perEnv, type LimiterFor } from './per-env.ts'

/** The longest delay that a queue takes, in seconds: 12 hours. */
const MAX_DELAY_SECONDS = 43_200

/** The messages of one batch are held for so long together, in milliseconds: a consumer ends after 15 minutes. */
const MAX_BATCH_DELAY_MS = 600_000

/** Options of `rateLimitQueue`. */
export interface QueueOptions<Env, Body> {
  /** Whose message it is. */
  readonly subject: (message: Message<Body>, env: Env) => Subject | Promise<Subject>
  /** What handling it costs. @default 1 request */
  readonly cost?: (message: Message<Body>, env: Env) => Cost | Promise<Cost>
  /**
   * How long a message that fits is held at most, in milliseconds, when its decision asks for a delay
   * (`delayMs`). Those of a batch together are held for ten minutes at most. After that it is handled,
   * early. 0 never holds. @default 30_000
   */
  readonly maxDelayMs?: number
}

/**
 * A queue consumer that handles messages only as fast as the limits allow: a message that is denied
 * goes back to the queue with the decision's delay, and is tried again then; one that fits and is to
 * be delayed is held, since going back would charge it again. A handled message is
 * acknowledged; one whose subject or handler throws goes back as the queue is set to, and does not
 * keep the others from being handled. A cost that can never fit goes back with the longest delay.
 *
 * Each return counts against the queue's `max_retries`, denials too, and what is over goes to its
 * dead-letter queue: set both.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * export default { queue: rateLimitQueue(limiterFor, { subject: ({ body }) => body.subject }, handle) }
 */
export function rateLimitQueue<Env extends object, Body>(
  limiterFor: LimiterFor<Env>,
  options: QueueOptions<Env, Body>,
  handle: (message: Message<Body>, env: Env, ctx: ExecutionContext) => void | Promise<void>,
): (batch: MessageBatch<Body>, env: Env, ctx: ExecutionContext) => Promise<void> {
  assertKnownOptions('rateLimitQueue', options, ['subject', 'cost', 'maxDelayMs'])
  const { subject, cost } = options
  assertFunction('subject', subject)
  if (cost !== undefined) assertFunction('cost', cost)
  assertFunction('handle', handle)
  const maxDelayMs = assertMaxDelay('maxDelayMs', options.maxDelayMs)
  const kept = perEnv(assertFunction('limiterFor', limiterFor))

  async function ask(message: Message<Body>, env: Env, ctx: ExecutionContext): Promise<Decision> {
    const waitUntil = (promise: Promise<unknown>): void => ctx.waitUntil(promise)
    const units: Cost | undefined = cost === undefined ? 1 : await cost(message, env)
    // A function that returns nothing must not cost less than it meant to.
    if (units === undefined) throw new InputError('invalid_cost', 'cost', 'must not be undefined')
    return kept(env).check(await subject(message, env), { cost: units, waitUntil })
  }

  return async (batch, env, ctx) => {
    let leftMs = MAX_BATCH_DELAY_MS
    for (const message of batch.messages) {
      try {
        const decision = await ask(message, env, ctx)
        if (decision.allowed) {
          const delayMs = Math.min(decision.delayMs, maxDelayMs, leftMs)
          leftMs -= delayMs
          if (delayMs > 0) await delay(delayMs)
          await handle(message, env, ctx)
          message.ack()
        } else {
          message.retry({ delaySeconds: delaySeconds(decision) })
        }
      } catch (error) {
        console.error('A queued message failed and is retried:', error)
        message.retry()
      }
    }
  }
}

function delaySeconds({ retryAfterMs }: DeniedDecision): number {
  const seconds = retryAfterMs === null ? MAX_DELAY_SECONDS : Math.ceil(retryAfterMs / 1000)
  return Math.min(MAX_DELAY_SECONDS, Math.max(1, seconds))
}
