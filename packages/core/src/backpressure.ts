import { ConfigError } from './errors.ts'
import { knownOptions, positiveInteger } from './validate.ts'

/** A delay that grows as a limit is used up, before there is a denial. */
export interface Backpressure {
  /** The share of the limit from which on requests are delayed, from 0 to below 1. @default 0.8 */
  readonly from?: number
  /** The delay of the request that uses up the limit, in milliseconds, at most 30_000. @default 2_000 */
  readonly maxMs?: number
}

/** Returns the backpressure with its defaults, or throws. */
export function validBackpressure(where: string, options: Backpressure): Required<Backpressure> {
  knownOptions(where, options, ['from', 'maxMs'])
  const { from = 0.8, maxMs = 2_000 } = options
  if (!(typeof from === 'number' && from >= 0 && from < 1)) {
    throw new ConfigError('invalid_option', `${where}.from`, 'must be a share from 0 to below 1')
  }
  return { from, maxMs: positiveInteger(`${where}.maxMs`, maxMs, 30_000) }
}

/** The delay of a request, in whole milliseconds, by the share of the limit that is used with it. */
export function delayAt(share: number, { from, maxMs }: Required<Backpressure>): number {
  if (share <= from) return 0
  return Math.round(maxMs * Math.min(1, (share - from) / (1 - from)))
}
