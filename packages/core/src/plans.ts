export { invalidatePlan, planResolver } from './plans/plan-resolver.ts'
export type { PlanOf, PlanResolverOptions } from './plans/plan-resolver.ts'
