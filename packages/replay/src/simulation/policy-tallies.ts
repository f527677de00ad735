import type { Decision, PolicyRule, PolicyState } from '@sluice/core'
import type { Call } from '../call.ts'
import type { PolicyReport } from './report-types.ts'

/** Denials with their times, under construction. */
export interface Denials {
  count: number
  firstAt: number
  lastAt: number
}

interface PolicyTally extends Denials {
  readonly tenants: Set<string>
  calls: number
  fullest: number
  /** False for a balance. */
  readonly hasLimit: boolean
}

/** Counts what each policy of a set does. */
export interface PolicyTallies {
  add(call: Call, decision: Decision): void
  report(): PolicyReport[]
}

/** Creates empty counts of these policies. */
export function createPolicyTallies(rules: readonly PolicyRule[]): PolicyTallies {
  const tallies = new Map<string, PolicyTally>(
    rules.map(({ name, balance }) => [
      name,
      { ...noDenials(), tenants: new Set<string>(), calls: 0, fullest: 0, hasLimit: !balance },
    ]),
  )
  return {
    add({ at, subject }, { policies, violated }) {
      for (const state of policies) noteUse(tallies.get(state.name), state)
      const denying = violated && tallies.get(violated.name)
      if (!denying) return
      note(denying, at)
      denying.tenants.add(subject.tenant)
    },
    report: () =>
      rules.map(({ name, unit }) => {
        const { count, tenants, calls, fullest, firstAt, lastAt } = tallies.get(name) as PolicyTally
        const use = { tenants: tenants.size, calls, fullest }
        return { name, unit, denied: count, ...use, ...timesOf({ count, firstAt, lastAt }) }
      }),
  }
}

function noteUse(tally: PolicyTally | undefined, { burst, remaining }: PolicyState): void {
  if (!tally) return
  tally.calls += 1
  if (!tally.hasLimit) return
  // A limit of 0 is always full.
  const full = burst > 0 ? (burst - remaining) / burst : 1
  if (full > tally.fullest) tally.fullest = full
}

export const noDenials = (): Denials => ({ count: 0, firstAt: 0, lastAt: 0 })

/** Counts a denial. Calls come in the order of their times. */
export function note(denials: Denials, at: number): void {
  if (denials.count === 0) denials.firstAt = at
  denials.count += 1
  denials.lastAt = at
}

/** Returns the times of denials as a report states them. */
export function timesOf({
  count,
  firstAt,
  lastAt,
}: Denials): Pick<PolicyReport, 'firstDeniedAt' | 'lastDeniedAt'> {
  const iso = (at: number): string | undefined =>
    count > 0 ? new Date(at).toISOString() : undefined
  return { firstDeniedAt: iso(firstAt), lastDeniedAt: iso(lastAt) }
}
