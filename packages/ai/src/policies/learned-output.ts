import type { Subject } from '@sluice/core'
import {
  assertOptionRules,
  assertPositiveInteger,
  assertTexts,
  optionRule,
  type OptionRules,
} from '@sluice/core/internal'

/** Options of `learnedOutput`. */
export interface LearnedOutputOptions {
  /** The dimensions whose values are learned apart, beside the model. @default ['tenant'] */
  readonly per?: readonly string[]
  /** The share of answers, in percent, that were not longer than what is reserved: 50 to 100. @default 99 */
  readonly percentile?: number
  /** The answers to see before anything is reserved by them. @default 50 */
  readonly after?: number
}

/** The lengths of answers by tenant and model. Created by `learnedOutput`. */
export interface LearnedOutput {
  /** Returns the output tokens to reserve, at most `most`; `undefined` while too little is known. */
  expect(subject: Subject, model: string, most: number): number | undefined
  /** Learns from an answer. */
  observe(subject: Subject, model: string, output: number): void
}

/** The lengths of latest answers: their number by length, in steps of 2^(1/4). */
interface Lengths {
  readonly counts: number[]
  total: number
  /** The length of an answer that was longer than expected, and for how many answers it still counts. */
  peak: number
  peakLeft: number
}

/** The answers after which older ones count half. */
const HALVED_AT = 1_000

/** The answers for which one that was longer than expected is what is reserved. */
const PEAK_LASTS = 100

/** The most pairs of a partition and a model to remember. */
const MAX_KNOWN = 10_000

const stepOf = (output: number): number => Math.ceil(Math.log2(Math.max(1, output)) * 4)
const lengthOf = (step: number): number => Math.ceil(2 ** (step / 4))

/**
 * Creates the option `learn` of `modelHandler`, `limitedFetch` and `limitedModel`: a call reserves as much output
 * as the latest answers to this tenant by this model had, and not its maximum, so more calls fit at the
 * same time. An answer that is longer than expected raises what is reserved at once. Each isolate learns by
 * itself and makes no call.
 *
 * A budget is soft then: each call in flight may use its maximum, and has reserved less.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * modelHandler(limiter, { subject, prices: LIST_PRICES, learn: learnedOutput() }, openai)
 */
export function learnedOutput(options: LearnedOutputOptions = {}): LearnedOutput {
  const rules: OptionRules<LearnedOutputOptions> = {
    per: assertTexts,
    percentile: optionRule(isPercentile, 'a number from 50 to 100'),
    after: assertPositiveInteger,
  }
  assertOptionRules('learnedOutput', options, rules)
  const { per = ['tenant'], percentile = 99, after = 50 } = options
  const known = new Map<string, Lengths>()

  const keyOf = (subject: Subject, model: string): string =>
    JSON.stringify([
      model,
      ...per.map((dimension) => (subject as Record<string, unknown>)[dimension]),
    ])

  function expected({ counts, total, peak, peakLeft }: Lengths): number {
    let missing = (total * percentile) / 100
    let step = 0
    for (; step < counts.length; step += 1) {
      missing -= counts[step] ?? 0
      if (missing <= 0) break
    }
    return Math.max(lengthOf(step), peakLeft > 0 ? peak : 1)
  }

  return {
    expect(subject, model, most) {
      const lengths = known.get(keyOf(subject, model))
      if (lengths === undefined || lengths.total < after) return undefined
      return Math.min(most, expected(lengths))
    },

    observe(subject, model, output) {
      const key = keyOf(subject, model)
      const lengths = known.get(key) ?? { counts: [], total: 0, peak: 0, peakLeft: 0 }
      lengths.peakLeft -= 1
      if (lengths.total >= after && output > expected(lengths)) {
        lengths.peak = output
        lengths.peakLeft = PEAK_LASTS
      }
      const step = stepOf(output)
      lengths.counts[step] = (lengths.counts[step] ?? 0) + 1
      lengths.total += 1
      if (lengths.total >= HALVED_AT) halve(lengths)
      // The latest last, so that the first has been unused for longest.
      known.delete(key)
      known.set(key, lengths)
      const [oldest = key] = known.keys()
      if (known.size > MAX_KNOWN) known.delete(oldest)
    },
  }
}

const isPercentile = (value: unknown): boolean =>
  typeof value === 'number' && value >= 50 && value <= 100

function halve(lengths: Lengths): void {
  lengths.total = 0
  for (const [step, count = 0] of lengths.counts.entries()) {
    lengths.counts[step] = Math.floor(count / 2)
    lengths.total += Math.floor(count / 2)
  }
}
