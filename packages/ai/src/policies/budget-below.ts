import type { Limiter, Subject } from '@sluice/core'
import { unitNamesOf } from '@sluice/core/reservations'
import { assertOptions, assertPositiveInteger, invalidOption } from '@sluice/core/internal'

/**
 * Returns a function that finds out if less than these units are left of any budget that counts them. It is
 * a condition to stop an agent of the AI SDK by, in one round trip that charges nothing.
 *
 * @param subject The subject of the agent's calls.
 * @param amounts Units by name: the most that the next call may use.
 * @throws ConfigError When an amount is not a whole number from 1, or no policy counts its unit.
 * @example
 * const stopWhen = [isStepCount(30), budgetBelow(limiter, { tenant, run }, { usd: usd(0.05) })]
 * const { steps } = await generateText({ model, prompt, tools, stopWhen })
 */
export function budgetBelow(
  limiter: Limiter,
  subject: Subject,
  amounts: Readonly<Record<string, number>>,
): () => Promise<boolean> {
  assertOptions('budgetBelow.subject', subject)
  assertOptions('budgetBelow', amounts)
  const cost = Object.fromEntries(Array.from(unitNamesOf(limiter), (unit) => [unit, 0]))
  const entries = Object.entries(amounts)
  if (entries.length === 0) {
    throw invalidOption('budgetBelow', 'must name a unit, such as usd')
  }
  for (const [unit, amount] of entries) {
    if (!Object.hasOwn(cost, unit)) {
      const message = 'must be a unit that a policy of the limiter counts'
      throw invalidOption(`budgetBelow.${unit}`, message)
    }
    cost[unit] = assertPositiveInteger(`budgetBelow.${unit}`, amount)
  }

  // A unit that costs 0 always fits, so what does not fit is a budget of a named unit.
  return async () => !(await limiter.peek(subject, { cost })).allowed
}
