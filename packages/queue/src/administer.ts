import { assertKnownOptions, assertPositiveInteger, invalidOption } from '@sluice/core/internal'
import { decodeJob, type FailedJob } from './job.ts'
import { partsOf } from './limited-queue.ts'
import type { LimitedQueue } from './options.ts'
import { EDIT, LOOK, operationOf } from './state/operations.ts'
import type { EditKind, Look } from './state/requests.ts'

/** Any queue. */
type AnyQueue = LimitedQueue<never, never, never, never>

/** The number of jobs by where they are. */
export interface JobCounts {
  /** Jobs that may run as soon as it is their turn and their limits have room. */
  readonly waiting: number
  /** Jobs with a delay, and jobs that wait for their next attempt. */
  readonly delayed: number
  /** Jobs that run, or have run and are not settled. */
  readonly running: number
  readonly failed: number
  /**
   * The age of the oldest job that waits, in milliseconds since it was added; 0 if none does. Of many jobs in more than 20
   * lines, such as tenants, an older one may not be seen.
   */
  readonly oldestMs: number
}

/** The range of jobs to list. */
export interface FailedJobsOptions {
  /** The number of jobs to skip, oldest first. @default 0 */
  readonly from?: number
  /** The most jobs to return, at most 1,000. @default 100 */
  readonly count?: number
}

/**
 * Counts the jobs of a queue, and tells how long the oldest has waited. One round trip.
 *
 * @throws StoreError When the store fails.
 * @example
 * const { waiting, failed, oldestMs } = await countJobs(summaries)
 */
export async function countJobs(queue: AnyQueue): Promise<JobCounts> {
  const { waiting, delayed, running, dead, oldest } = await look(queue, 0, 0)
  const { now } = partsOf(queue).time()
  const oldestMs = oldest === '' ? 0 : Math.max(0, now - decodeJob(oldest).at)
  return { waiting, delayed, running, failed: dead, oldestMs }
}

/**
 * Lists jobs that have failed for good, oldest first. They are kept for the queue's `keepFailed`.
 *
 * @throws StoreError When the store fails.
 * @example
 * for (const { id, why, error } of await failedJobs(summaries)) console.log(id, why, error)
 */
export async function failedJobs(
  queue: AnyQueue,
  options: FailedJobsOptions = {},
): Promise<FailedJob[]> {
  assertKnownOptions('failedJobs', options, ['from', 'count'])
  const { from = 0, count = 100 } = options
  assertPositiveInteger('failedJobs.count', count, 1_000)
  if (!Number.isSafeInteger(from) || from < 0) {
    throw invalidOption('failedJobs.from', 'must be a whole number from 0', from)
  }
  const { entries } = await look(queue, from, count)
  return entries.map(({ id, payload, attempts, diedAt, why, error }) => {
    const { data, subject } = decodeJob(payload)
    return { id, data, subject, attempts, failedAt: diedAt, why, error }
  })
}

/**
 * Has failed jobs wait again, with all their attempts, at their old place. Returns their number.
 *
 * @throws StoreError When the store fails.
 * @example
 * await retryJobs(summaries, [id])
 */
export const retryJobs = (queue: AnyQueue, ids: readonly string[]): Promise<number> =>
  edit(queue, 'retry', ids)

/**
 * Removes jobs that do not run. Returns their number.
 *
 * @throws StoreError When the store fails.
 * @example
 * const removed = await removeJobs(summaries, [id]) // 0 if it runs, or is gone
 */
export const removeJobs = (queue: AnyQueue, ids: readonly string[]): Promise<number> =>
  edit(queue, 'remove', ids)

function look(queue: AnyQueue, from: number, count: number): Promise<Look> {
  const { name, runtime, time } = partsOf(queue)
  return runtime.store.run(operationOf(LOOK, name, { from, count, ...time() }))
}

/** The most jobs in one call. */
const MAX_EDITED = 1_000

async function edit(queue: AnyQueue, kind: EditKind, ids: readonly string[]): Promise<number> {
  const { name, runtime, time, listeners } = partsOf(queue)
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
    throw invalidOption(`${kind}Jobs.ids`, 'must be a list of ids', ids)
  }
  let edited = 0
  for (let at = 0; at < ids.length; at += MAX_EDITED) {
    const part = ids.slice(at, at + MAX_EDITED)
    edited += await runtime.store.run(operationOf(EDIT, name, { kind, ids: part, ...time() }))
  }
  for (const listener of listeners) listener()
  return edited
}
