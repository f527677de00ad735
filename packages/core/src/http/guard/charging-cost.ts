import type { Cost } from '../../cost.ts'
import type { AllowedDecision, DeniedDecision } from '../../decision.ts'
import type { CheckOptions } from '../../limiter/call.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { Reservation } from '../../reservations/reservation.ts'
import type { Subject } from '../../subject.ts'
import type { CallInFlight } from './call-in-flight.ts'

/** A cost that says how its requests are charged, created by `reserving` or `waiting`. */
export interface ChargingCost<Context extends unknown[] = []> {
  (request: Request, ...context: Context): Cost | Promise<Cost>
  /** Decides on a request, and charges it. For guards. */
  readonly chargeFor: ChargeFor
  /** True if the handler may settle what is charged. */
  readonly isReserved: boolean
}

type ChargeFor = (
  request: Request,
  limiter: Limiter,
  subject: Subject,
  options: CheckOptions,
) => Promise<AllowedRequest | DeniedDecision>

/** A request that is charged. */
export interface AllowedRequest {
  readonly allowed: true
  /** The decision; if the cost is reserved, it is the reservation, too. */
  readonly decision: AllowedDecision | RequestReservation
  /** Set if the request holds a slot of a `concurrency` policy. */
  readonly call?: CallInFlight | undefined
  /** Ends the call of a request whose handler does not run. */
  readonly cancel?: () => Promise<void>
}

/** The reservation of a request, for its handler: the decision, the subject, and `settle` and `cancel`. */
export type RequestReservation = AllowedDecision &
  Reservation & {
    /** The subject that the adapter found, with the route. */
    readonly subject: Subject
  }
