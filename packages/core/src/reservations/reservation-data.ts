import { isUnits } from '../internal/validation.ts'
import { InputError } from '../errors.ts'

/** A reservation as plain data. It names keys of the store: do not send it to clients. */
export interface ReservationData {
  readonly id: string
  /** True if it was made in the memory of one process, while the store failed. */
  readonly local: boolean
  /** The time at which the estimate becomes final, in epoch ms. */
  readonly settleBy: number
  readonly charges: readonly Charge[]
}

/** The charge of a reservation to one policy. */
export interface Charge {
  readonly policy: string
  readonly key: string
  readonly limit: number
  readonly burst: number
  readonly position: number
  readonly units: number
}

/** The key of the mark that allows a reservation to be settled. */
export const markKey = (id: string): string => `hold:${id}`

/** Returns the error of data that `toJSON` cannot have returned. */
export const invalidReservation = (): InputError =>
  new InputError(
    'invalid_reservation',
    'reservation',
    'must be data that toJSON of a reservation returned',
  )

/** Returns `value` if it is the data of a reservation, as an object or as JSON text; else throws. */
export function parseReservation(value: unknown): ReservationData {
  const data = (
    typeof value === 'string' ? parseJson(value) : value
  ) as Partial<ReservationData> | null
  const isData =
    typeof data?.id === 'string' &&
    /^[0-9a-z]{1,32}$/.test(data.id) &&
    typeof data.local === 'boolean' &&
    Number.isSafeInteger(data.settleBy) &&
    Array.isArray(data.charges) &&
    data.charges.every(isCharge)
  if (isData) return data as ReservationData
  throw invalidReservation()
}

function isCharge(value: unknown): boolean {
  const { policy, key, limit, burst, position, units } = (value ?? {}) as Partial<Charge>
  return (
    typeof policy === 'string' &&
    typeof key === 'string' &&
    [limit, burst, units].every(isUnits) &&
    Number.isSafeInteger(position) &&
    Number(position) >= 0
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
