import type { PlanSource } from '../decision.ts'
import type { PlanLimits, Plans } from '../policies/plans.ts'
import type { Subject } from '../subject.ts'
import type { Contribution } from './extensions.ts'
import type { LimiterRuntime } from './runtime.ts'
import { unknownPlan } from './problems.ts'

/** The plan whose limits apply to a request. */
export interface ResolvedPlan {
  readonly plan: string | undefined
  readonly planSource: PlanSource | undefined
  readonly limits: PlanLimits
}

/** The limits of a limiter without plans. */
export const NO_LIMITS: PlanLimits = Object.freeze(Object.create(null) as PlanLimits)

const WITHOUT_PLANS: ResolvedPlan = { plan: undefined, planSource: undefined, limits: NO_LIMITS }

/**
 * Resolves the plan of a request: the subject's own, otherwise the one that an extension has found,
 * otherwise the default plan. Reports a name that is not defined.
 */
export function resolvePlan(
  { plans, events }: LimiterRuntime,
  { plan: name }: Subject,
  contributed: Contribution['plan'],
): ResolvedPlan {
  if (plans === undefined) return WITHOUT_PLANS
  if (name !== undefined && name !== null) {
    const limits = plans.get(name)
    if (limits) return { plan: name, planSource: 'subject', limits }
    events.problem(unknownPlan(name))
  }
  if (name === undefined && !contributed && plans.isDefaultImplied) warnOfImpliedPlan(plans)
  const plan = contributed?.name ?? plans.defaultPlan
  return {
    plan,
    planSource: contributed?.source ?? 'default',
    limits: plans.get(plan) ?? NO_LIMITS,
  }
}

/** The plans that a subject without a plan has been reported for. */
const reported = new WeakSet<Plans>()

function warnOfImpliedPlan(plans: Plans): void {
  if (reported.has(plans)) return
  reported.add(plans)
  console.warn(
    `Sluice: a subject without plan gets "${plans.defaultPlan}", the first; if that is meant, set defaultPlan in definePlans`,
  )
}
