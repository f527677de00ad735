import type { Extension } from './extensions.ts'
import type { LimiterEvents, Listeners } from './events.ts'
import { ConfigError } from '../errors.ts'
import { assertFunction, assertKnownOptions } from '../internal/validation.ts'
import { seam } from './seam.ts'

/** Options of `listen`. */
export interface ListenOptions {
  /** The shares of a limit of which `threshold` tells. @default [0.8, 0.95] */
  readonly thresholds?: readonly number[]
}

/** The shares of a limit that listeners are told of unless they name others. */
export const DEFAULT_THRESHOLDS: readonly number[] = [0.8, 0.95]

/**
 * Calls functions of yours as things happen in a limiter. What they throw is logged, and affects no
 * decision. Without a listener, problems go to `console.error`.
 *
 * @throws ConfigError When a name is no event's, a listener no function, or a threshold no share.
 * @example
 * createLimiter({
 *   store,
 *   policies,
 *   extensions: [listen({ threshold: ({ policy, threshold }) => warn(policy.name, threshold) })],
 * })
 */
export function listen(listeners: Listeners, options: ListenOptions = {}): Extension {
  const on = validListeners('listen', listeners)
  assertKnownOptions('listen options', options, ['thresholds'])
  const thresholds = validThresholds(options.thresholds ?? DEFAULT_THRESHOLDS)
  const joined = { on, thresholds, prepare: nothing, configures: never, handle: undefined }
  return Object.freeze({ name: undefined, seam, join: () => ({ ...joined, name: undefined }) })
}

const nothing = (): undefined => undefined
const never = (): boolean => false

const NAMES: readonly (keyof LimiterEvents)[] = [
  'decision',
  'degraded',
  'storeCall',
  'threshold',
  'shadow',
  'reserved',
  'settled',
  'abandoned',
  'problem',
]

/** Returns `listeners` if they are functions of known names, else throws. */
export function validListeners(option: string, listeners: Listeners): Listeners {
  assertKnownOptions(option, listeners, NAMES)
  for (const [name, listener] of Object.entries(listeners)) {
    if (listener !== undefined) assertFunction(`${option}.${name}`, listener)
  }
  return listeners
}

const isShare = (value: unknown): boolean => typeof value === 'number' && value > 0 && value <= 1

function validThresholds(thresholds: unknown): readonly number[] {
  if (Array.isArray(thresholds) && thresholds.every(isShare)) return [...(thresholds as number[])]
  const message = 'must be a list of shares of a limit, above 0 and up to 1, such as [0.8, 0.95]'
  throw new ConfigError('invalid_option', 'listen.thresholds', message)
}
