import type { Limiter } from '../limiter/limiter.ts'
import { assertCost, costIn, type Cost } from '../cost.ts'
import { InputError } from '../errors.ts'
import { runtimeOf, type LimiterRuntime } from '../limiter/runtime.ts'
import { parseReservation, type ReservationData } from './reservation-data.ts'
import { settle, type Settled } from './settle.ts'
import { startTelling, unansweredOf, type Telling } from './telling.ts'

/** A charge that is an estimate until it is settled. If it is never settled, the estimate stays charged. */
export interface Reservation<Unit extends string = string> {
  /**
   * Corrects the charge to what was really used. Units left out keep their estimate. Unused units are
   * given back where they were taken; units beyond the estimate are charged there, even past the limit,
   * or now if that window is over. One round trip. Only the first call counts, so a call whose reply was
   * lost can be repeated.
   *
   * @throws InputError `invalid_cost` when a unit is unknown or not a whole number.
   * @throws StoreError When the store fails. The estimate stays charged, unless only the reply was lost.
   */
  settle(actual: Cost<Unit>): Promise<Settled>
  /** Gives everything back: settles at 0. @throws StoreError As `settle` does. */
  cancel(): Promise<Settled>
  /** Returns the reservation as plain data, for `reservation` in another process. */
  toJSON(): ReservationData
}

/**
 * Restores a reservation made elsewhere from its data or its JSON text, such as a queue message. It is
 * settled in this limiter's store. Charges to policies that this limiter does not have are skipped.
 *
 * @throws InputError `invalid_reservation` when the data is not a reservation's.
 * @example
 * await reservation(limiter, message.body).settle({ token: 812 })
 */
export function reservation<Unit extends string>(
  limiter: Limiter<never, Unit, never> | Limiter,
  data: unknown,
): Reservation<Unit> {
  return createReservation(parseReservation(data), runtimeOf(limiter))
}

/** Creates a reservation from its data. */
export function createReservation<Unit extends string>(
  data: ReservationData,
  runtime: LimiterRuntime,
  telling: Telling = startTelling(),
): Reservation<Unit> {
  return {
    async settle(actual) {
      if (actual === undefined || actual === null) {
        const message = 'must be the units used, such as { token: 812 }'
        throw new InputError('invalid_cost', 'cost', message)
      }
      assertCost(actual, runtime.program.units)
      const reported = new Set(typeof actual === 'number' ? ['request'] : Object.keys(actual))
      const unitsOf = (unit: string, reserved: number): number =>
        reported.has(unit) ? costIn(actual, unit) : reserved
      return settle(data, runtime, unitsOf, telling)
    },
    cancel: () => settle(data, runtime, () => 0, telling),
    toJSON() {
      // Another process that gets the data may settle it, and this one does not hear of that.
      unansweredOf(runtime).delete(data.id)
      return data
    },
  }
}
