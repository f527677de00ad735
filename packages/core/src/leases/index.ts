export { lease } from './lease.ts'
export type { LeaseOptions } from './lease.ts'
export { leased } from './leased.ts'
export type { LeasedOptions, LeasedStore } from './leased.ts'
