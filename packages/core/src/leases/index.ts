export { lease, type LeaseOptions } from './lease.ts'
export { leased, type LeasedOptions, type LeasedStore } from './leased.ts'
export { reserveFromLeases, type LeasedReservations } from './reserve-from-leases.ts'
