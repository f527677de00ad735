import type { Call } from '../call.ts'
import type { PolicySet } from '../simulation/policy-set.ts'
import type { PolicyReport } from '../simulation/report-types.ts'
import { LIST_PRICES, type Prices } from '@sluice/ai'
import { dollarsOf } from '../simulation/units-of-call.ts'
import { judgePlans } from './judge-plans.ts'
import { judgePolicy } from './judge-policy.ts'
import { judgeOrder } from './judge-order.ts'
import { createSubjects } from './subjects.ts'

/** A likely mistake in limits. */
export interface Mistake {
  /** The policy that has it. `undefined` if it is in the plans. */
  readonly policy: string | undefined
  /** The mistake and its remedy, a sentence. */
  readonly text: string
}

/** Looks for likely mistakes in a set of limits, by the calls of a log. */
export interface MistakeFinder {
  /** Notes a call. */
  add(call: Call): void
  /**
   * Returns the mistakes, at most one of each policy.
   *
   * @param policies The policies of a replay of the same calls.
   */
  find(policies: readonly PolicyReport[]): Promise<readonly Mistake[]>
}

/**
 * Looks for likely mistakes in limits: limits that are too small for every call, windows that are not those of a
 * policy's name, policies that never decide, plans that no call has.
 *
 * @param prices The prices of calls whose cost the log does not state. @default those of the set, else `LIST_PRICES`
 * @example
 * const mistakes = findMistakes(set)
 * for await (const call of log.calls()) mistakes.add(call)
 * const { sets } = await replay(log.calls(), [set])
 * for (const { text } of await mistakes.find(sets[0]?.policies ?? [])) console.log(text)
 */
export function findMistakes(
  set: PolicySet,
  prices: Prices = set.prices ?? LIST_PRICES,
): MistakeFinder {
  const units = new Set(set.rules.map(({ unit }) => unit))
  units.delete('request')
  const subjects = createSubjects([...units])
  return {
    add: (call) => subjects.add(call, dollarsOf(call, prices) ?? 0),
    async find(reports) {
      const limits = await subjects.limits(set)
      const found: Mistake[] = []
      for (const rule of set.rules) {
        const report = reports.find(({ name }) => name === rule.name)
        const text = judgePolicy(rule, report, limits) ?? judgeOrder(rule, set.rules, limits)
        if (text !== undefined) found.push({ policy: rule.name, text })
      }
      const texts = judgePlans(set.plans, subjects.plans)
      return [...found, ...texts.map((text) => ({ policy: undefined, text }))]
    },
  }
}
