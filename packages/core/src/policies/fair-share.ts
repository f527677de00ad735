import type { Algorithm } from '../algorithms/algorithm.ts'
import type { AnyLimitName, Limit, LimitContext, Units } from './limit.ts'
import type { Policy } from './policy.ts'
import { sharesAlgorithm as shares, type Asker } from '../algorithms/shares.ts'
import { assertKnownOptions, assertPositiveInteger, invalidOption } from '../internal/validation.ts'
import {
  assertBetween,
  besideRule,
  memberOf,
  numbersOfEach,
  ruleBeside,
  type Kind,
} from './beside.ts'
import { createPolicy } from './define-rule.ts'

/** The algorithm of shares, for the class of Durable Objects that counts them: see `docs/plans.md`. */
export const sharesAlgorithm: Algorithm = shares as unknown as Algorithm

/** A whole number, or a function of plan, route and model that returns one. A function is called for every plan at construction. */
export type ShareNumber<Name extends string = AnyLimitName> =
  number | ((context: LimitContext<Name>) => Units | undefined)

/** Options of `fairShare`. */
export interface FairShareOptions<
  Between extends readonly string[] = readonly string[],
  Name extends string = AnyLimitName,
> {
  /** The dimensions whose values share the limit, such as `['tenant']`, or a priority of your own. */
  readonly between: Between
  /**
   * The weight by which what the guarantees leave is divided: twice the weight gets twice as much. A whole number
   * from 1 to 1_000. @default 1
   */
  readonly weight?: ShareNumber<Name>
  /**
   * The units per window that it gets whatever others ask for: a whole number from 0 to 8 * 10^12, at most the
   * limit. If those that ask are guaranteed more than the limit together, each gets as much less. @default 0
   */
  readonly guarantee?: ShareNumber<Name>
  /**
   * The units that are never lent, so that a newcomer's first request finds room: choose your largest request. At
   * most a quarter of the limit is kept. @default a fiftieth of the limit, or the largest request of late
   */
  readonly headroom?: number
}

const [MAX_WEIGHT, MAX_GUARANTEE] = [1_000, 8_000_000_000_000]

const SHARES: Kind = {
  factory: 'fairShare',
  suffix: '.share',
  refusal:
    'cannot be shared; only a policy with the trait slides can, such as a slidingWindow or slidingWindowCounter, which is not leased',
  ofStripes: 'each would be shared by itself',
  canTake: ({ algorithm: { traits } }) => traits?.slides === true,
}

/**
 * Divides a limit fairly between tenants, or whatever else `between` names. A tenant alone may use nearly all of it.
 * As soon as others ask, each gets its guarantee and, by weight, its part of the rest within one window; what one
 * leaves idle is lent to the others. The limit itself stays exact: a policy of its own, beside one named
 * `<name>.share`. In Redis the shares of a limit are one hash, with up to 1_100 fields.
 *
 * Nobody's request is cut in two: who is below its part may begin one that is larger.
 *
 * @param policy A `slidingWindow` or `slidingWindowCounter` without stripes.
 * @throws ConfigError When it is another policy, or an option is unknown, missing or out of range.
 * @example
 * fairShare(slidingWindow({ name: 'gpu', limit: 600, window: '1m', per: 'global' }), {
 *   between: ['tenant'],
 *   weight: ({ plan }) => plan.weight,
 * })
 */
export function fairShare<
  Dimension extends string,
  Unit extends string,
  const Between extends readonly string[],
  Name extends string = AnyLimitName,
>(
  policy: Policy<Dimension, Unit, NoInfer<Name>>,
  options: FairShareOptions<Between, Name>,
): Policy<Dimension | Between[number], Unit, Name> {
  assertKnownOptions('fairShare', options, ['between', 'weight', 'guarantee', 'headroom'])
  const rule = ruleBeside(SHARES, policy)
  const between = assertBetween(SHARES, options.between)
  const weightOf = numberOf('weight', options.weight ?? 1, 1, MAX_WEIGHT)
  const guaranteeOf = numberOf('guarantee', options.guarantee ?? 0, 0, MAX_GUARANTEE)
  const headroom =
    options.headroom === undefined
      ? 0
      : assertPositiveInteger('fairShare.headroom', options.headroom)
  const share = besideRule(SHARES, rule, {
    limit: alsoResolving(rule.limit, weightOf, guaranteeOf),
    algorithm: sharesAlgorithm,
    params: [rule.windowMs, headroom],
    numbers: numbersOfEach(['member', 'weight', 'guarantee'], (subject, context): Asker => ({
      member: memberOf(rule, between, subject),
      weight: weightOf(context),
      guarantee: guaranteeOf(context),
    })),
  })
  return createPolicy([rule, share]) as Policy<Dimension | Between[number], Unit, Name>
}

/** Returns the function that gives a weight or guarantee. @throws ConfigError When it is a number out of range. */
function numberOf(
  name: string,
  value: ShareNumber,
  min: number,
  max: number,
): (context: LimitContext) => number {
  const assertNumber = (given: unknown, plan?: LimitContext['plan']): number => {
    if (Number.isInteger(given) && (given as number) >= min && (given as number) <= max) {
      return given as number
    }
    const has = plan ? `; the plan has: ${Object.keys(plan).join()}` : ''
    const message = `must be a whole number from ${min} to ${max}, or a function that returns one${has}`
    throw invalidOption(`fairShare.${name}`, message, given)
  }
  if (typeof value === 'function') return (context) => assertNumber(value(context), context.plan)
  const number = assertNumber(value)
  return () => number
}

/** Returns `limit` so that weights and guarantees are resolved with it: at construction for every plan. */
function alsoResolving(
  limit: Limit,
  weightOf: (context: LimitContext) => number,
  guaranteeOf: (context: LimitContext) => number,
): Limit {
  return (context) => {
    weightOf(context)
    const guarantee = guaranteeOf(context)
    // As long as none is configured, there is nothing to share. A setting takes precedence over this function.
    if (limit === 'configured') return 'unlimited'
    const units = typeof limit === 'function' ? limit(context) : limit
    if (typeof units !== 'number' || guarantee <= units) return units
    throw invalidOption('fairShare.guarantee', `must be at most the limit, ${units}`, guarantee)
  }
}
