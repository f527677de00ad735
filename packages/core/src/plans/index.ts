export { invalidatePlan, planResolver } from './plan-resolver.ts'
export type { PlanOf, PlanResolverOptions } from './plan-resolver.ts'
