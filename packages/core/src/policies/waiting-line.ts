import type { Algorithm } from '../algorithms/algorithm.ts'
import type { AnyLimitName } from './limit.ts'
import type { Policy } from './policy.ts'
import { lineAlgorithm as algorithm, type Asker } from '../algorithms/line.ts'
import { assertKnownOptions, assertPositiveInteger } from '../internal/validation.ts'
import {
  assertBetween,
  besideRule,
  memberOf,
  numbersOfEach,
  ruleBeside,
  type Kind,
} from './beside.ts'
import { createPolicy } from './define-rule.ts'

/** The algorithm of lines, for the class of Durable Objects that counts them: see `docs/waiting.md`. */
export const lineAlgorithm: Algorithm = algorithm as unknown as Algorithm

/** Options of `waitingLine`. */
export interface WaitingLineOptions<Between extends readonly string[] = readonly string[]> {
  /**
   * The dimensions whose values take turns in the line, such as `['tenant']` for a limit of all tenants.
   * @default first come, first served
   */
  readonly between?: Between | undefined
  /**
   * The most requests that wait in one line, from 1 to 500. Any more are denied at once. With `between`, one value may
   * have as many as places are free, and always one. @default 100
   */
  readonly maxWaiting?: number | undefined
}

const MOST_WAITING = 500

const LINE: Kind = {
  factory: 'waitingLine',
  suffix: '.line',
  refusal:
    'cannot have a line; only a policy with one window or bucket can, without a lease, and without the traits held, guessesRetry and balance, by which it is not known when units come free. For calls in flight, use a queue',
  ofStripes: 'each would have a line of its own',
  canTake: ({ algorithm: { traits } }) =>
    !(traits?.held || traits?.guessesRetry || traits?.balance),
}

/**
 * Puts a line before a limit, for requests that wait until they fit (`waitFor`, `waiting`). They are let in one after
 * another. A caller that comes while others wait is denied, or waits behind them. The line is a second policy, `<name>.line`.
 *
 * @param policy A policy with one window or a bucket, which is neither leased nor in stripes.
 * @throws ConfigError When it is another policy, or an option is unknown or out of range.
 * @example
 * waitingLine(slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] }))
 */
export function waitingLine<
  Dimension extends string,
  Unit extends string,
  const Between extends readonly string[] = [],
  Name extends string = AnyLimitName,
>(
  policy: Policy<Dimension, Unit, Name>,
  options: WaitingLineOptions<Between> = {},
): Policy<Dimension | Between[number], Unit, Name> {
  assertKnownOptions('waitingLine', options, ['between', 'maxWaiting'])
  const rule = ruleBeside(LINE, policy)
  const between = options.between === undefined ? [] : assertBetween(LINE, options.between)
  const { maxWaiting: given = 100 } = options
  const maxWaiting = assertPositiveInteger('waitingLine.maxWaiting', given, MOST_WAITING)
  const line = besideRule(LINE, rule, {
    algorithm: lineAlgorithm,
    burst: undefined,
    params: [maxWaiting, between.length > 0 ? 1 : 0],
    numbers: numbersOfEach(['ticket', 'flow'], (subject): Asker => ({
      ticket: 0,
      flow: between.length > 0 ? memberOf(rule, between, subject) : 1,
    })),
  })
  return createPolicy([rule, line]) as Policy<Dimension | Between[number], Unit, Name>
}
