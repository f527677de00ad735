import { ConfigError } from '../errors.ts'
import { assertKnownOptions, assertPositiveInteger } from '../internal/validation.ts'

/** Options of `backpressure`. */
export interface BackpressureOptions {
  /** The share of the limit from which on requests are delayed, from 0 to below 1. @default 0.8 */
  readonly from?: number
  /** The delay of the request that uses up the limit, in milliseconds, at most 30_000. @default 2_000 */
  readonly maxMs?: number
}

/** A delay that grows as a limit is used up. Made by `backpressure`. */
export interface Backpressure {
  /** The delay in whole milliseconds, by the share of the limit that is used with the request. */
  delayMs(share: number): number
}

/**
 * Delays requests as a limit is used up, before there is a denial: `delayMs` of the decision grows
 * evenly, and the adapters hold the request for so long.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'], backpressure: backpressure() })
 */
export function backpressure(options: BackpressureOptions = {}): Backpressure {
  assertKnownOptions('backpressure', options, ['from', 'maxMs'])
  const { from = 0.8, maxMs = 2_000 } = options
  if (!(typeof from === 'number' && from >= 0 && from < 1)) {
    throw new ConfigError(
      'invalid_option',
      'backpressure.from',
      'must be a share from 0 to below 1',
    )
  }
  assertPositiveInteger('backpressure.maxMs', maxMs, 30_000)
  return Object.freeze({
    delayMs: (share: number) =>
      share <= from ? 0 : Math.round(maxMs * Math.min(1, (share - from) / (1 - from))),
  })
}
