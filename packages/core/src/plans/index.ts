export { invalidatePlan, planResolver, type PlanResolverOptions } from './plan-resolver.ts'
export type { PlanOf } from './resolver-call.ts'
export { PLAN_TIERS } from './tiers.ts'
