import { durationMs } from '@sluice/core'
import { assertFunction, assertPositiveInteger, invalidOption } from '@sluice/core/internal'
import type { WorkOptions } from './options.ts'

/** The most jobs that run at a time: more are too many for a script. */
const MAX_CONCURRENCY = 1_000

/** The options of a worker, checked. */
export interface WorkSettings {
  readonly concurrency: number
  readonly lookEveryMs: number
  readonly untilIdle: boolean
  /** Never throws, and is not to be awaited. */
  readonly onFailed: (id: string) => unknown
  readonly signal: AbortSignal | undefined
}

/** Returns the settings of a worker of the queue of this name. @throws ConfigError When an option is malformed. */
export function workSettings(queue: string, options: WorkOptions): WorkSettings {
  const concurrency = assertPositiveInteger(
    'work.concurrency',
    options.concurrency ?? 10,
    MAX_CONCURRENCY,
  )
  const lookEveryMs = durationMs('work.lookEvery', options.lookEvery ?? '5s')
  const untilIdle = options.untilIdle ?? false
  if (typeof untilIdle !== 'boolean') {
    throw invalidOption('work.untilIdle', 'must be true or false', untilIdle)
  }
  const onFailed = options.onFailed ?? ((id) => logFailed(queue, id))
  assertFunction('work.onFailed', onFailed)
  const { signal } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidOption('work.signal', 'must be an AbortSignal', signal)
  }
  return {
    concurrency,
    lookEveryMs,
    untilIdle,
    // It may be async.
    onFailed: (id) => new Promise((resolve) => resolve(onFailed(id))).catch(logThrown),
    signal,
  }
}

const logThrown = (error: unknown): void => console.error('Sluice: onFailed has thrown:', error)

const logFailed = (queue: string, id: string): void =>
  console.error(`Sluice: A job of the queue "${queue}" has failed for good: ${id}`)
