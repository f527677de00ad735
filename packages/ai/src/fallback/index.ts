import {
  assertFunction,
  assertName,
  assertOptionRules,
  type OptionRules,
} from '@sluice/core/internal'
import { assertLadder } from './assert-ladder.ts'
import { admitByLadder, type Fallback, type FallbackList } from './ladder.ts'
import type { FallbackModels } from '../call/options.ts'
import { sendDown, sendModelDown } from './send-down.ts'
import { StickyRuns } from './sticky-runs.ts'

export type { FallbackModel } from './assert-ladder.ts'
export type { AskedSubject, Fallback, FallbackList, SkippedModel } from './ladder.ts'
export type { FallbackModels } from '../call/options.ts'

/** Options of `fallback`. */
export interface FallbackOptions {
  /** Called for each call that the requested model does not answer, and for each that skips a model. @default none */
  readonly onFallback?: (fallback: Fallback) => unknown
  /**
   * A dimension of the subject, such as `run`, whose calls stay with the model that has answered as long as it has room: at a
   * switch, the provider's cache of their prompt is lost. Each process remembers 10,000 runs. @default none
   */
  readonly sticky?: string
}

const RULES: OptionRules<FallbackOptions> = { onFallback: assertFunction, sticky: assertName }

/**
 * Creates the option `fallbackModels`: the models to call, in turn, if a budget or limit has no room for the requested one.
 * One decision takes the first model that all have room for. If its provider fails and has billed nothing, the next is
 * decided anew.
 *
 * A model is skipped if this call is estimated to cost more by it than by one before it, or if it cannot take the call.
 *
 * @param models At most 15, or a function that returns them for a subject: by its plan, or by the requested `askedModel`.
 * @throws ConfigError When the list or an option is malformed.
 * @example
 * const fallbackModels = fallback(['gpt-6-luna', 'gpt-5.4-nano'])
 * export const POST = modelHandler(limiter, { subject, prices: LIST_PRICES, fallbackModels }, openai)
 */
export function fallback(models: FallbackList, options: FallbackOptions = {}): FallbackModels {
  assertOptionRules('fallback', options, RULES)
  const { onFallback, sticky } = options
  const runs = sticky === undefined ? undefined : new StickyRuns(sticky)
  return {
    assertIn: (door, terms) => assertLadder(door, models, terms),
    admit: (call, tenant, prepare) =>
      admitByLadder({ call, tenant, prepare, models, onFallback, runs }),
    send: sendDown,
    sendModel: sendModelDown,
  }
}
