import type { Decision, PolicyRule, PolicyState } from '@sluice/core'
import type { Call } from '../call.ts'
import { entryOf } from '../groups.ts'
import { balanceKey, openingOf, type OpeningBalance } from './opening-balances.ts'
import type { BalanceReport, CreditsReport } from './report-types.ts'

/** A balance under construction. */
type Tally = { -readonly [Name in keyof BalanceReport]: BalanceReport[Name] }

/** Follows the balances of credits. */
export interface BalanceTally {
  add(call: Call, decision: Decision): void
  report(): CreditsReport[]
}

/** Creates a tally of the policies of credits among these rules: none without an opening balance. */
export function createBalanceTally(
  rules: readonly PolicyRule[],
  opening: OpeningBalance = 0,
): BalanceTally {
  const policies = new Map(
    rules
      .filter(({ balance }) => balance)
      .map((rule) => [rule.name, { rule, tallies: new Map<string, Tally>() }]),
  )

  function tallyOf(rule: PolicyRule, tallies: Map<string, Tally>, { subject }: Call): Tally {
    const values = balanceKey(rule, subject) ?? []
    const dimensions = rule.per === 'global' ? [] : rule.per
    return entryOf(tallies, JSON.stringify(values), () => ({
      subject: Object.fromEntries(dimensions.map((name, index) => [name, values[index] ?? ''])),
      opening: openingOf(opening, subject.tenant),
      charged: 0,
      left: 0,
      refused: 0,
      refusedUnits: 0,
      ranOutAt: undefined,
    }))
  }

  return {
    add(call, { policies: states }) {
      if (policies.size === 0) return
      for (const state of states) {
        const policy = policies.get(state.name)
        if (policy) note(tallyOf(policy.rule, policy.tallies, call), state, call.at)
      }
    },
    report: () =>
      Array.from(policies.values(), ({ rule: { name, unit }, tallies }) => ({
        policy: name,
        unit,
        balances: [...tallies.values()].toSorted(
          (a, b) => b.refused - a.refused || a.left - b.left,
        ),
      })),
  }
}

function note(tally: Tally, { fits, charged, cost, remaining }: PolicyState, at: number): void {
  tally.left = remaining
  if (charged) tally.charged += cost
  if (!fits) {
    tally.refused += 1
    tally.refusedUnits += cost
  }
  if (!fits || remaining === 0) tally.ranOutAt ??= new Date(at).toISOString()
}
