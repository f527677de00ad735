/* The entry `@sluice/queue/bullmq`: a processor for workers of BullMQ in front of a limiter. */
import {
  StoreError,
  type Cost,
  type DeniedDecision,
  type Limiter,
  type Subject,
} from '@sluice/core'
import { assertFunction, assertKnownOptions } from '@sluice/core/internal'
import { delay } from '@sluice/core/internal/http'
import { runtimeOf } from '@sluice/core/internal/limiter'
import { DelayedError, UnrecoverableError, type Job } from 'bullmq'
import { reservationId, reserveJob, settleOrEstimate, type JobCharge } from './charge.ts'
import { LONGEST_WAIT_MS, waitMsOf } from './denial.ts'

/** The delay of a job while the store fails, in milliseconds. */
const STORE_DELAY_MS = 2_000

/** The attempts to look back for a reservation: those after it may have failed to cancel it, as the store did. */
const LOOK_BACK = 8

/** Options of `limitedProcessor`. */
export interface LimitedProcessorOptions<Data, Result> {
  /** Finds the subject of a job. */
  readonly subject: (job: Job<Data, Result>) => Subject | Promise<Subject>
  /** Finds the cost of a job. @default 1 request */
  readonly cost?: (job: Job<Data, Result>) => Cost | Promise<Cost>
  /** Finds the units that a job has used in its result. @default those that were reserved */
  readonly used?: (result: Result, job: Job<Data, Result>) => Cost
}

/** A function that processes a job of BullMQ. */
export type Processor<Data, Result> = (
  job: Job<Data, Result>,
  token?: string,
  signal?: AbortSignal,
) => Promise<Result>

/**
 * Creates a processor for a `Worker` of BullMQ that begins a job only when the limits have room for it. A job that is
 * denied is delayed until then, which is no attempt. A job is charged once, however often it is tried or stalls; one that
 * never fits fails for good.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * new Worker('summaries', limitedProcessor(limiter, { subject: ({ data }) => ({ tenant: data.tenant }) }, summarise), {
 *   connection,
 * })
 */
// eslint-disable-next-line typescript/no-explicit-any -- as BullMQ's own `Job` and `Worker` have it
export function limitedProcessor<Data = any, Result = any>(
  limiter: Limiter,
  options: LimitedProcessorOptions<Data, Result>,
  handle: Processor<Data, Result>,
): Processor<Data, Result> {
  const { events } = runtimeOf(limiter)
  assertKnownOptions('limitedProcessor', options, ['subject', 'cost', 'used'])
  const { subject, cost, used } = options
  assertFunction('limitedProcessor.subject', subject)
  for (const [name, given] of Object.entries({ cost, used })) {
    if (given !== undefined) assertFunction(`limitedProcessor.${name}`, given)
  }
  assertFunction('limitedProcessor.handle', handle)

  async function reserve(job: Job<Data, Result>) {
    const { queueName, id = '', attemptsStarted, attemptsMade, stalledCounter } = job
    const charged = {
      limiter,
      subject: await subject(job),
      cost: await cost?.(job),
      idOf: (attempt: number) => reservationId('bullmq', queueName, id, attempt),
    }
    // A job that was only denied has left nothing.
    const mayHaveLeft = attemptsMade > 0 || stalledCounter > 0
    const lostFrom = mayHaveLeft ? Math.max(1, attemptsStarted - LOOK_BACK) : attemptsStarted
    return reserveJob(charged, { claim: attemptsStarted, lostFrom, held: '' })
  }

  async function settle(charge: JobCharge, result: Result, job: Job<Data, Result>): Promise<void> {
    const report = (error: unknown): void => {
      const message = `A job of "${job.queueName}" could not be settled; its estimate stays charged`
      events.problem({ code: 'reservation_lost', message, error })
    }
    let units: Cost | undefined
    try {
      units = used?.(result, job)
    } catch (error) {
      report(error)
    }
    await settleOrEstimate(limiter, charge.settlement(units), report).catch(report)
  }

  return async (job, token, signal) => {
    const later = async (ms: number): Promise<never> => {
      await job.moveToDelayed(Date.now() + ms, token)
      throw new DelayedError()
    }
    const reserved = await reserve(job).catch((error: unknown) => {
      if (error instanceof StoreError) return undefined
      throw error
    })
    if (reserved?.isAllowed === undefined) return later(STORE_DELAY_MS)
    if (!reserved.isAllowed) return later(delayOf(reserved.decision))
    let result: Result
    try {
      await delay(reserved.delayMs, signal)
      signal?.throwIfAborted()
      result = await handle(job, token, signal)
    } catch (error) {
      await reserved.charge.keep().catch(() => {})
      throw error
    }
    await settle(reserved.charge, result, job)
    return result
  }
}

/** Returns the delay of a denied job. @throws UnrecoverableError When it never fits. */
function delayOf(decision: DeniedDecision): number {
  const waitMs = waitMsOf(decision)
  if (waitMs !== null) return Math.min(waitMs, LONGEST_WAIT_MS)
  throw new UnrecoverableError(
    `Sluice: The job never fits: its cost is above the limit of policy "${decision.violated?.name}"`,
  )
}
