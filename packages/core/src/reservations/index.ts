export { reserve } from './reserve.ts'
export type { ReserveDecision, ReserveOptions } from './reserve.ts'
export { reservation } from './reservation.ts'
export type { Charge, Reservation, ReservationData, Settled } from './reservation.ts'
