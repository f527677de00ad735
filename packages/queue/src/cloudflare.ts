/* The entry `@sluice/queue/cloudflare`: a consumer of Cloudflare Queues in front of a limiter. */
import type { Cost, DeniedDecision, Limiter, Subject } from '@sluice/core'
import { durationMs, InputError, StoreError } from '@sluice/core'
import { assertFunction, assertKnownOptions } from '@sluice/core/internal'
import {
  assertMaxDelay,
  delay,
  limiterFrom,
  perEnv,
  type LimiterFor,
} from '@sluice/core/internal/http'
import { endFailed, reservationId, reserveJob, settleOrEstimate, type JobCharge } from './charge.ts'
import { waitMsOf } from './denial.ts'
import { JobError } from './job.ts'

/** The longest delay that a queue accepts, in seconds: 12 hours. */
const MAX_DELAY_SECONDS = 43_200

/** The longest total delay of one batch, in milliseconds: a consumer ends after 15 minutes. */
const MAX_BATCH_DELAY_MS = 600_000

/** The delays while the store fails, in seconds. They grow, so that a long fault uses up few retries. */
const FIRST_STORE_DELAY_SECONDS = 10
const LONGEST_STORE_DELAY_SECONDS = 600

/**
 * The attempts to look back for a reservation: those after it may have failed to cancel it, as the store did, for some minutes
 * with these delays. Also an attempt that was denied is looked at.
 */
const LOOK_BACK = 4

/** A message of Cloudflare Queues, as far as a consumer uses it. */
export interface QueueMessage<Body = unknown> {
  /** The id, the same in each attempt. */
  readonly id: string
  /** The data that was sent. */
  readonly body: Body
  /** The number of this attempt, from 1. */
  readonly attempts: number
  /** Reports to the queue that it is done. */
  ack(): void
  /** Gives it back to the queue. */
  retry(options?: { readonly delaySeconds?: number }): void
}

/** A batch of messages, as far as a consumer uses it. */
export interface QueueBatch<Body = unknown> {
  /** The name of the queue. */
  readonly queue: string
  /** The messages, which are handled one after another. */
  readonly messages: readonly QueueMessage<Body>[]
}

/** The context of a Worker's invocation, as far as a consumer uses it. */
interface QueueContext {
  waitUntil?(promise: Promise<unknown>): void
}

/** Options of `limitedConsumer`. */
export interface LimitedConsumerOptions<Env, Body> {
  /** Finds the subject of a message. */
  readonly subject: (message: QueueMessage<Body>, env: Env) => Subject | Promise<Subject>
  /** Finds the cost of handling a message. @default 1 request */
  readonly cost?: (message: QueueMessage<Body>, env: Env) => Cost | Promise<Cost>
  /**
   * The longest time for which an allowed message is delayed, in milliseconds, when its decision asks
   * for a delay (`delayMs`). All messages of a batch together are delayed ten minutes at most. A longer
   * delay is cut: the message is handled early. 0 never delays. @default 30_000
   */
  readonly maxDelayMs?: number
}

/** Handles a message. Returns the units that it has used; nothing if they are those that were reserved. */
export type MessageHandler<Env, Body, Context> = (
  message: QueueMessage<Body>,
  env: Env,
  ctx: Context,
) => Cost | void | Promise<Cost | void>

/**
 * Creates a consumer of Cloudflare Queues that handles messages only as fast as the limits allow.
 *
 * - A message that is denied goes back to the queue with the decision's delay, and is tried again then; one without
 *   credits, with five minutes; one that can never fit, with the longest delay.
 * - While the store fails, a message goes back with a delay that doubles with each of its attempts, from ten
 *   seconds to ten minutes.
 * - A message that is allowed and to be delayed waits here.
 * - A message that is handled is acknowledged, and settled with what its handler returns.
 * - A message whose subject, cost or handler throws goes back as the queue is configured, or after the `retry` of a
 *   `JobError`. The others are still handled.
 *
 * A message is charged once, however often it comes: the reservation has its id, and what an attempt before has
 * left is given back. Each return counts against the queue's `max_retries`, also after a denial. A message beyond that
 * goes to the dead-letter queue: configure both.
 *
 * @param limiter A limiter, or a function that creates it for the Worker's bindings.
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * export default { queue: limitedConsumer(limiterFor, { subject: ({ body }) => body.subject }, handle) }
 */
export function limitedConsumer<Env extends object, Body, Context extends object = object>(
  limiter: Limiter | LimiterFor<Env>,
  options: LimitedConsumerOptions<Env, Body>,
  handle: MessageHandler<Env, Body, Context>,
): (batch: QueueBatch<Body>, env: Env, ctx: Context) => Promise<void> {
  assertKnownOptions('limitedConsumer', options, ['subject', 'cost', 'maxDelayMs'])
  const { subject, cost } = options
  assertFunction('subject', subject)
  if (cost !== undefined) assertFunction('cost', cost)
  assertFunction('handle', handle)
  const maxDelayMs = assertMaxDelay('maxDelayMs', options.maxDelayMs)
  const limiterOf = limiterFrom<[Env]>('limiter', limiter, perEnv)

  async function reserve(message: QueueMessage<Body>, queue: string, env: Env, ctx: QueueContext) {
    const units: Cost | undefined = cost === undefined ? 1 : await cost(message, env)
    // Otherwise a function that forgets to return would be charged 1 request.
    if (units === undefined) throw new InputError('invalid_cost', 'cost', 'must not be undefined')
    const charged = {
      limiter: limiterOf(env),
      subject: await subject(message, env),
      cost: units,
      waitUntil: (promise: Promise<unknown>): void => ctx.waitUntil?.(promise),
      idOf: (attempt: number) => reservationId(queue, message.id, attempt),
    }
    const { attempts } = message
    const claim = { claim: attempts, lostFrom: Math.max(1, attempts - LOOK_BACK), held: '' }
    return reserveJob(charged, claim)
  }

  /** Handles a message whose charge is made. */
  async function run(
    message: QueueMessage<Body>,
    env: Env,
    ctx: Context,
    charge: JobCharge,
  ): Promise<void> {
    let used: Cost | void
    try {
      used = await handle(message, env, ctx)
    } catch (error) {
      const reported = error instanceof JobError ? error.used : undefined
      await endFailed(limiterOf(env), charge, reported, logNoCost)
      throw error
    }
    message.ack()
    const settlement = charge.settlement(used ?? undefined)
    await settleOrEstimate(limiterOf(env), settlement, logUnsettled).catch(logUnsettled)
  }

  return async (batch, env, ctx) => {
    let remainingMs = MAX_BATCH_DELAY_MS
    for (const message of batch.messages) {
      try {
        const reserved = await reserve(message, batch.queue, env, ctx)
        if (reserved.isAllowed) {
          const delayMs = Math.min(reserved.delayMs, maxDelayMs, remainingMs)
          remainingMs -= delayMs
          await delay(delayMs)
          await run(message, env, ctx, reserved.charge)
        } else if (reserved.isAllowed === false) {
          message.retry({ delaySeconds: delaySeconds(reserved.decision) })
        } else message.retry({ delaySeconds: storeDelaySeconds(message.attempts) })
      } catch (error) {
        giveBack(message, error)
      }
    }
  }
}

const logNoCost = (error: unknown): void =>
  console.error('Sluice: A JobError says in `used` what is no cost; its estimate stays:', error)

const logUnsettled = (error: unknown): void =>
  console.error('Sluice: A message could not be settled; its estimate stays charged:', error)

/** Gives a message back after an error. One that was acknowledged stays so. */
function giveBack(message: QueueMessage, error: unknown): void {
  console.error('Sluice: A queued message failed and is retried:', error)
  if (error instanceof JobError && error.retry) {
    const ms = durationMs('retry', error.retry)
    message.retry({ delaySeconds: Math.min(MAX_DELAY_SECONDS, Math.ceil(ms / 1_000)) })
  } else if (error instanceof StoreError) {
    message.retry({ delaySeconds: storeDelaySeconds(message.attempts) })
  } else message.retry()
}

function delaySeconds(decision: DeniedDecision): number {
  const seconds = Math.ceil((waitMsOf(decision) ?? Infinity) / 1_000)
  return Math.min(MAX_DELAY_SECONDS, Math.max(1, seconds))
}

const storeDelaySeconds = (attempts: number): number =>
  Math.min(LONGEST_STORE_DELAY_SECONDS, FIRST_STORE_DELAY_SECONDS * 2 ** (attempts - 1))
