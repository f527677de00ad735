import { invalidOption } from '@sluice/core/internal'
import type { Limiter, PolicyRule, Subject } from '@sluice/core'
import { adjust } from '@sluice/core/credits'
import type { Call } from '../call.ts'

/** Units that balances begin with: of each, or by tenant, of which others begin with 0. */
export type OpeningBalance = number | Readonly<Record<string, number>>

/** The most units that a balance counts exactly. */
const MAX_UNITS = 10 ** 14

/** @throws ConfigError When a balance is not a number of units. */
export function assertOpeningBalance(balance: OpeningBalance): void {
  const all = typeof balance === 'number' ? [balance] : Object.values(balance)
  const wrong = all.find((units) => !Number.isInteger(units) || units < 0 || units > MAX_UNITS)
  if (wrong === undefined) return
  const message =
    'must be whole units from 0 to 10^14, such as usd(50), or an object of them by tenant'
  throw invalidOption('openingBalance', message, wrong)
}

/** Returns the units that a balance of this tenant begins with. */
export function openingOf(balance: OpeningBalance, tenant: string): number {
  if (typeof balance === 'number') return balance
  return Object.hasOwn(balance, tenant) ? (balance[tenant] ?? 0) : 0
}

/** Returns the tenants that opening balances name. */
export const tenantsOf = (balance: OpeningBalance | undefined): string[] =>
  typeof balance === 'object' ? Object.keys(balance) : []

/** Identifies a balance: the values of its dimensions, in their order. `undefined` if the subject lacks one. */
export function balanceKey(
  { per }: PolicyRule,
  subject: Call['subject'],
): readonly string[] | undefined {
  const values = subject as Readonly<Record<string, string | undefined>>
  const key = (per === 'global' ? [] : per).map((dimension) => values[dimension])
  return key.every((value) => value !== undefined) ? key : undefined
}

/** Creates a function that opens the balances of a subject, each before its first call. */
export function createOpenings(
  limiter: Limiter,
  rules: readonly PolicyRule[],
  balance: OpeningBalance,
): (call: Call) => Promise<void> {
  const policies = rules.filter((rule) => rule.balance)
  const opened = new Set<string>()
  return async ({ at, subject }) => {
    for (const rule of policies) {
      const values = balanceKey(rule, subject)
      if (!values) continue
      const key = JSON.stringify([rule.name, ...values])
      if (opened.has(key)) continue
      opened.add(key)
      const amount = openingOf(balance, subject.tenant)
      if (amount === 0) continue
      // Units that never expire.
      const facts = { policy: rule.name, amount, id: 'opening', at, reason: 'Opening balance' }
      await adjust(limiter, subject as Subject, facts)
    }
  }
}
