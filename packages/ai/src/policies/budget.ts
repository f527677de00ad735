import {
  dailyCap,
  monthlyCap,
  type CapOptions,
  type Limit,
  type Per,
  type PolicyOf,
  type PolicyRule,
} from '@sluice/core'
import {
  MAX_UNITS,
  assertKnownOptions,
  assertLimit,
  assertName,
  invalidOption,
} from '@sluice/core/internal'
import { withOwnOptions } from '../own-options.ts'

// eslint-disable-next-line typescript/no-explicit-any -- stands for names of limits that are not known, which only `any` fits
export type AnyLimitName = any

/** The unit of money: a millionth of a dollar, so that sums are whole numbers. */
const UNIT = 'usd'
const PER_DOLLAR = 1_000_000
/** The least budget, a tenth of a cent: less is an amount in dollars. */
const LEAST = 1_000

/** Options of `budget`. */
export interface BudgetOptions<
  Partition extends Per = Per,
  Name extends string = AnyLimitName,
> extends Pick<CapOptions<Partition>, 'per' | 'scope' | 'mode' | 'rollout' | 'resets'> {
  /** The most to spend each calendar day, in micro-dollars, 0 or from 1,000: `usd(5)`, or a function of the plan. */
  readonly daily?: Limit<Name>
  /** The most to spend each calendar month, in micro-dollars. */
  readonly monthly?: Limit<Name>
  /** The first part of the policies' names. @default 'budget' */
  readonly name?: string
}

/**
 * Dollars as micro-dollars, the whole numbers in which limits and costs of the unit `usd` are given.
 *
 * @throws ConfigError Unless it is an amount from 0 to a hundred million dollars.
 * @example
 * usd(12.5) // 12_500_000
 */
export function usd(dollars: number): number {
  const micro = Math.round(dollars * PER_DOLLAR)
  if (typeof dollars === 'number' && micro >= 0 && micro <= MAX_UNITS) return micro
  throw invalidOption('usd', 'must be dollars from 0 to a hundred million')
}

/**
 * Holds what is spent in the unit `usd` to so much a day and a month: in UTC, or by the calendar of `resets`. Reserve an estimate,
 * then settle the real price: what is in flight counts, so that many calls at once cannot overspend.
 *
 * @throws ConfigError When an option is unknown, missing or out of range, or an amount is in dollars.
 * @example
 * budget({ daily: usd(5), monthly: ({ plan }) => plan.monthlyUsd, per: ['tenant'] })
 */
export function budget<const Partition extends Per, Name extends string = AnyLimitName>(
  options: BudgetOptions<Partition, Name>,
): PolicyOf<Partition, 'usd', Name> {
  assertKnownOptions('budget', options, [
    'daily',
    'monthly',
    'name',
    'per',
    'scope',
    'mode',
    'rollout',
    'resets',
  ])
  const { daily, monthly, name = 'budget', resets, ...common } = options
  assertName('budget.name', name)
  const rules: PolicyRule[] = []
  const add = (
    option: 'daily' | 'monthly',
    limit: Limit | undefined,
    cap: typeof dailyCap,
  ): void => {
    if (limit === undefined) return
    const own = option === 'daily' ? resetsOfDays(resets, monthly) : resets
    const capOptions = { ...common, name: `${name}.${option}`, limit, unit: UNIT, resets: own }
    assertBudget(option, limit)
    rules.push(...withOwnOptions('budget', option, () => cap(capOptions))())
  }
  add('daily', daily, dailyCap)
  add('monthly', monthly, monthlyCap)
  if (rules.length > 0) return () => rules
  throw invalidOption('budget', 'must have a daily or a monthly limit')
}

/** Returns the calendar of a daily limit beside a monthly one: a day of the month is for that alone, the hour for both. */
export const resetsOfDays = (
  resets: CapOptions['resets'],
  monthly: Limit | undefined,
): CapOptions['resets'] =>
  monthly !== undefined && typeof resets?.forDays === 'function' ? resets.forDays() : resets

/** Checks a limit in micro-dollars, so that an error names the option of `budget`. */
function assertBudget(option: string, limit: Limit): void {
  if (typeof limit === 'function' || limit === 'configured') return
  if (typeof limit === 'number' && limit > 0 && limit < LEAST) {
    const message = `is in micro-dollars, 0 or from ${LEAST}; for dollars, write usd(${limit})`
    throw invalidOption(`budget.${option}`, message, limit)
  }
  assertLimit(`budget.${option}`, limit)
}
