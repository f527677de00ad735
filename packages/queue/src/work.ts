import { assertFunction, assertKnownOptions } from '@sluice/core/internal'
import { partsOf } from './limited-queue.ts'
import type { LimitedQueue, Worker, WorkOptions } from './options.ts'
import { QueueWorker } from './queue-worker.ts'
import type { Handler } from './running-job.ts'

const OPTIONS = ['concurrency', 'lookEvery', 'untilIdle', 'signal', 'onFailed']

/**
 * Runs the jobs of a queue as fast as its limits allow, in this process; other processes may do the same. A job begins
 * when its reservation is allowed, and is settled with what its handler returns. A job that fails is tried again.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * const worker = work(summaries, async ({ data, signal }) => {
 *   const { usage } = await summarise(data, signal)
 *   return { token: usage.total_tokens }
 * })
 * process.once('SIGTERM', () => worker.stop())
 */
export function work<Data, Unit extends string>(
  queue: LimitedQueue<Data, never, Unit, never>,
  handle: Handler<Data, Unit>,
  options: WorkOptions = {},
): Worker {
  assertFunction('work.handle', handle)
  assertKnownOptions('work', options, OPTIONS)
  return new QueueWorker(partsOf(queue), handle, options)
}
