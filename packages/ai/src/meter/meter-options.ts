import {
  assertFunction,
  assertPositiveInteger,
  assertText,
  hasMethod,
  oneOf,
  type OptionRules,
} from '@sluice/core/internal'
import { assertFormats, type UsageFormat } from '../formats/format.ts'
import type { AnswerFacts } from './usage-accumulator.ts'
import type { Settle } from '../usage.ts'

/** Options of `meterModel`, and, with their own, of `meterStream` and `meter`. */
export interface MeterOptions extends AnswerFacts {
  /**
   * Receives the usage, once: when the answer has come to its end, and else as soon as it breaks off. The
   * answer does not wait for it; what it throws goes to `onError`.
   */
  readonly settle: Settle
  /**
   * Keeps the platform's request alive until the usage is settled: `(promise) => ctx.waitUntil(promise)`.
   * On Cloudflare Workers, without it, nothing is settled when the client goes away.
   */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined
  /** Stops the answer: settles what is known, cancels the source, and breaks what is passed on. */
  readonly signal?: AbortSignal | undefined
  /** Called with what `settle` throws, and with faults of the meter. @default console.error */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** Options of `meterStream`, and, with its own, of `meter`. */
export interface MeterStreamOptions extends MeterOptions {
  /**
   * The formats that the answer may have beside those of OpenAI and Anthropic, from `@sluice/ai/formats`.
   *
   * @default none
   */
  readonly formats?: readonly UsageFormat[] | undefined
}

/** Options of `meter`. */
export interface MeterResponseOptions extends MeterStreamOptions {
  /**
   * True to meter an answer with a status outside 200 to 299 like any other, and not to settle it as
   * nothing. @default false
   */
  readonly chargeErrors?: boolean
}

/** The rules of what a meter knows in advance. */
export const FACT_RULES: OptionRules<AnswerFacts> = {
  model: assertText,
  inputTokens: assertTokens,
  count: assertFunction,
}

/** The rules of the options that every meter has. */
export const METER_RULES: OptionRules<MeterOptions> = {
  ...FACT_RULES,
  settle: assertFunction,
  waitUntil: assertFunction,
  // A signal of another realm is not an instance of this one's class.
  signal: hasMethod('addEventListener', 'an AbortSignal'),
  onError: assertFunction,
}

/** The rules of the options of `meterStream`. */
export const STREAM_RULES: OptionRules<MeterStreamOptions> = {
  ...METER_RULES,
  formats: assertFormats,
}

/** The rules of the options of `meter`. */
export const RESPONSE_RULES: OptionRules<MeterResponseOptions> = {
  ...STREAM_RULES,
  chargeErrors: oneOf(true, false),
}

function assertTokens(option: string, value: unknown): void {
  if (value !== 0) assertPositiveInteger(option, value)
}
