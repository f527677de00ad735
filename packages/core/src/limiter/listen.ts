import type { Extension } from './extensions.ts'
import type { LimiterEvents, Listeners } from './events.ts'
import { assertFunction, assertKnownOptions, invalidOption } from '../internal/validation.ts'
import { seam } from './seam.ts'

/** Options of `listen`. */
export interface ListenOptions {
  /** The shares of a limit at which `threshold` is emitted, above 0 and up to 1. @default [0.8, 0.95] */
  readonly thresholds?: readonly number[]
}

/** The shares of a limit at which `threshold` is emitted by default. */
export const DEFAULT_THRESHOLDS: readonly number[] = [0.8, 0.95]

/**
 * Calls your functions when events occur in a limiter. Exceptions are logged and never affect a
 * decision. Without a listener, problems go to `console.error`.
 *
 * @throws ConfigError When an event is unknown, a listener is not a function, or a threshold is not a
 * share above 0 and up to 1.
 * @example
 * createLimiter({
 *   store,
 *   policies,
 *   extensions: [listen({ threshold: ({ policy, threshold }) => warn(policy.name, threshold) })],
 * })
 */
export function listen(listeners: Listeners, options: ListenOptions = {}): Extension {
  const on = assertListeners('listen', listeners)
  assertKnownOptions('listen options', options, ['thresholds'])
  const instance = {
    name: undefined,
    on,
    thresholds: assertThresholds(options.thresholds ?? DEFAULT_THRESHOLDS),
    contribute: () => undefined,
    configures: () => false,
    handle: undefined,
  }
  return Object.freeze({ name: undefined, seam, join: () => instance })
}

const EVENTS: readonly (keyof LimiterEvents)[] = [
  'decision',
  'degraded',
  'storeCall',
  'threshold',
  'shadow',
  'reserved',
  'settled',
  'abandoned',
  'cutAnswer',
  'wait',
  'job',
  'problem',
]

/** Returns `listeners` if each is a function for a known event, else throws. */
export function assertListeners(option: string, listeners: Listeners): Listeners {
  assertKnownOptions(option, listeners, EVENTS)
  for (const [name, listener] of Object.entries(listeners)) {
    if (listener !== undefined) assertFunction(`${option}.${name}`, listener)
  }
  return listeners
}

const isShare = (value: unknown): boolean => typeof value === 'number' && value > 0 && value <= 1

function assertThresholds(thresholds: unknown): readonly number[] {
  if (Array.isArray(thresholds) && thresholds.every(isShare)) return [...(thresholds as number[])]
  const message = 'must be a list of numbers above 0 and up to 1, such as [0.8, 0.95]'
  throw invalidOption('listen.thresholds', message)
}
