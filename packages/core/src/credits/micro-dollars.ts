/* Dollars where micro-dollars are meant: a millionth of the amount, and a number of units all the same. */
import type { Plans } from '../policies/plans.ts'
import type { Policy } from '../policies/policy.ts'
import { invalidOption } from '../internal/validation.ts'

/** The fewest micro-dollars that an amount of money has: a tenth of a cent. */
const LEAST_MICROS = 1_000

/**
 * Checks an amount of money: of another unit than `usd`, and 0, any number is one.
 *
 * @param refuse Returns the error of the option.
 * @throws That error, if the amount is of dollars.
 */
export function assertMicros(
  unit: string,
  option: string,
  amount: unknown,
  refuse: (option: string, rule: string, amount: unknown) => Error,
): void {
  if (unit !== 'usd' || typeof amount !== 'number' || amount === 0) return
  if (Math.abs(amount) < LEAST_MICROS) {
    throw refuse(option, 'must be micro-dollars, such as usd(10)', amount)
  }
}

/**
 * Checks the amounts that plans include. For each at construction, so that no decision fails for it.
 *
 * @throws ConfigError When one is of dollars.
 */
export function assertPlanAmounts({
  policies,
  plans,
}: {
  readonly policies: readonly Policy[]
  readonly plans?: Plans
}): void {
  for (const { name, unit, limit, routes, balance } of policies.flatMap((policy) => policy())) {
    if (!balance || typeof limit !== 'function') continue
    for (const plan of plans?.names ?? []) {
      const context = { plan: plans?.get(plan) ?? {}, route: routes?.[0], model: undefined }
      const option = `policies.${name}.included.amount for plan "${plan}"`
      assertMicros(unit, option, limit(context), invalidOption)
    }
  }
}
