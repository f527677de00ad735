import { assertKnownOptions, assertPositiveInteger, invalidOption } from '../internal/validation.ts'

/** Options of `backpressure`. */
export interface BackpressureOptions {
  /** The share of the limit that may be used without delay, from 0 to below 1. @default 0.8 */
  readonly from?: number
  /** The delay of the request that uses up the limit, in milliseconds. At most 30_000. @default 2_000 */
  readonly maxMs?: number
}

/** A delay that grows as a limit is used up, created by `backpressure`. */
export interface Backpressure {
  /** Returns the delay in whole milliseconds. `usedShare` of the limit includes the request. */
  delayMs(usedShare: number): number
}

/**
 * Delays requests as a limit is used up, before it denies any. `delayMs` of the decision grows linearly,
 * and adapters delay the request by it.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'], backpressure: backpressure() })
 */
export function backpressure(options: BackpressureOptions = {}): Backpressure {
  assertKnownOptions('backpressure', options, ['from', 'maxMs'])
  const { from = 0.8, maxMs = 2_000 } = options
  if (!(typeof from === 'number' && from >= 0 && from < 1)) {
    throw invalidOption('backpressure.from', 'must be a number from 0 to below 1', from)
  }
  assertPositiveInteger('backpressure.maxMs', maxMs, 30_000)
  return Object.freeze({
    delayMs: (usedShare: number) =>
      usedShare <= from ? 0 : Math.round(maxMs * Math.min(1, (usedShare - from) / (1 - from))),
  })
}
