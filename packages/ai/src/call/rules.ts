import { durationMs, type Limiter } from '@sluice/core'
import { unitNamesOf } from '@sluice/core/reservations'
import {
  assertFunction,
  assertOptionRules,
  assertPositiveInteger,
  assertShare,
  assertTexts,
  hasMethod,
  optionRule,
  oneOf,
  type OptionRule,
  type OptionRules,
  invalidOption,
} from '@sluice/core/internal'
import { assertFormats } from '../formats/format.ts'
import { isObject } from '../json.ts'
import type { CallOptions } from './options.ts'
import type { CallTerms } from './prepare.ts'

type BodyOptions = Pick<CallOptions, 'maxBodyBytes' | 'formats' | 'includeUsage'>

/** The rules of the options of calls that come as a body of JSON. */
export const BODY_RULES: OptionRules<BodyOptions> = {
  maxBodyBytes: assertPositiveInteger,
  includeUsage: oneOf(true, false),
  formats: assertFormats,
}

/** The rules of what may be called, and at which price. */
export const TERM_RULES: OptionRules<Omit<CallTerms, 'minOutput' | 'includeUsage'>> = {
  models: (option, value) => assertTexts(option, isObject(value) ? Object.values(value) : value),
  prices: hasMethod('priceOf', 'made by definePrices'),
  maxOutput: assertPositiveInteger,
  usualOutput: (option, value) =>
    typeof value === 'function' || assertPositiveInteger(option, value),
  input: assertFunction,
  allowFields: assertTexts,
  count: assertFunction,
  imageTokens: assertPositiveInteger,
  unseenTokens: assertPositiveInteger,
}

/** The rules of the options that every way to make a limited call has. */
export const CALL_RULES: OptionRules<Omit<CallOptions, keyof BodyOptions>> = {
  ...TERM_RULES,
  minOutput: assertPositiveInteger,
  learn: hasMethod('expect', 'created by learnedOutput'),
  fallbackModels: hasMethod('assertIn', 'created by fallback'),
  onIncomplete: oneOf('keep', 'counted'),
  settleWithin: durationMs,
  unsettled: hasMethod('mark', 'created by release'),
  maxShare: assertShare,
  spentStatus: oneOf(402, 429),
  onUsage: assertFunction,
  onError: assertFunction,
}

/** Throws a `ConfigError` unless the options of a call are usable. */
export function assertCallOptions(
  door: string,
  options: CallOptions,
  rules: Readonly<Record<string, OptionRule>>,
): void {
  assertOptionRules(door, options, rules, 'subject')
  const { maxOutput, minOutput = 1, learn, fallbackModels } = options
  assertPositiveInteger(`${door}.minOutput`, minOutput, maxOutput)
  if (learn && options.minOutput) {
    throw invalidOption(`${door}.learn`, 'must be left out with minOutput')
  }
  fallbackModels?.assertIn(door, options)
}

/** Returns the limiter unless it counts dollars and there are no prices, or lacks live ones. @throws ConfigError */
export function assertPriced(
  door: string,
  limiter: Limiter,
  { prices }: Pick<CallOptions, 'prices'>,
): Limiter {
  prices?.live?.assertIn(door, limiter)
  if (prices || !unitNamesOf(limiter).has('usd')) return limiter
  throw invalidOption(`${door}.prices`, 'must be given, such as LIST_PRICES: a policy counts usd')
}

/** The options that every way to limit a client has. */
type ClientOptions = Omit<CallOptions, keyof BodyOptions> &
  Partial<Record<'subject' | 'onDenied' | 'waitUntil', unknown>>

/** Throws a `ConfigError` unless a client can be limited. @param own The rules of its other options. */
export function assertClientOptions<Options extends ClientOptions>(
  door: string,
  limiter: Limiter,
  options: Options,
  own: OptionRules<Omit<Options, keyof ClientOptions>>,
): void {
  const mustBe = 'a subject, such as { tenant }, or a function that returns one'
  const rules: OptionRules<ClientOptions> = {
    ...CALL_RULES,
    subject: optionRule((value) => typeof value === 'function' || isObject(value), mustBe),
    onDenied: assertFunction,
    waitUntil: assertFunction,
    ...own,
  }
  assertCallOptions(door, options, rules)
  hasMethod('check', 'a limiter')(`${door}.limiter`, limiter)
  assertPriced(door, limiter, options)
}
