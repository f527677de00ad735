export { reserve } from './reservations/reserve.ts'
export type { ReserveDecision, ReserveOptions } from './reservations/reserve.ts'
export { reservation } from './reservations/reservation.ts'
export type { Charge, Reservation, ReservationData, Settled } from './reservations/reservation.ts'
