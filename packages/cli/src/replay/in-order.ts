import { ConfigError } from '@sluice/core'
import type { LogOptions } from '@sluice/replay'
import type { Values } from '../command.ts'
import { logOptionsOf } from './log-options.ts'

/** The calls to hold back of a log that is not sorted: some 200 MB. */
const OF_UNSORTED = 250_000

/**
 * Runs what reads a log. If the log turns out not to be sorted, runs it once more with more calls held back, which a sorted
 * log would pay for in memory.
 *
 * @throws CommandError As `logOptionsOf` does.
 */
export async function inOrder<T>(
  values: Values,
  run: (options: LogOptions) => Promise<T>,
): Promise<T> {
  const options = logOptionsOf(values)
  try {
    return await run(options)
  } catch (error) {
    const isUnsorted = error instanceof ConfigError && error.option === 'reorderCalls'
    if (!isUnsorted || options.reorderCalls !== undefined) throw error
    return run({ ...options, reorderCalls: OF_UNSORTED })
  }
}
