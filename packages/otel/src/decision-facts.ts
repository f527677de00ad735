import type { Decision, PolicyState } from '@sluice/core'

/** The outcome of a decision, as spans and metrics name it. */
export type Outcome = 'allowed' | 'delayed' | 'denied'

export const outcomeOf = ({ allowed, delayMs }: Decision): Outcome =>
  allowed ? (delayMs > 0 ? 'delayed' : 'allowed') : 'denied'

/** Returns the policy that denied or delayed, if one did. */
export function policyThatActed({
  violated,
  delayMs,
  policies,
}: Decision): PolicyState | undefined {
  if (violated) return violated
  return delayMs > 0 ? policies.find((policy) => policy.delayMs === delayMs) : undefined
}

/** Returns the policy that denied or delayed; otherwise the one of which the largest share is used. */
export function bindingPolicy(decision: Decision): PolicyState | undefined {
  const enforced = decision.policies.filter((policy) => policy.enforced)
  const [tightest] = enforced.toSorted((a, b) => shareUsed(b) - shareUsed(a))
  return policyThatActed(decision) ?? tightest
}

/** Returns the part of a policy's capacity that is used, from 0 to 1. */
export const shareUsed = ({ remaining, burst }: PolicyState): number =>
  burst > 0 ? (burst - remaining) / burst : 1

/** Returns the units of a request, by unit: the largest number if policies of one unit differ. */
export function unitsBy(
  items: readonly { readonly unit: string; readonly units: number }[],
): Record<string, number> {
  const total: Record<string, number> = {}
  for (const { unit, units } of items) total[unit] = Math.max(total[unit] ?? 0, units)
  return total
}

export const costBy = ({ policies }: Decision): Record<string, number> =>
  unitsBy(policies.map(({ unit, cost }) => ({ unit, units: cost })))
