import type { ReservationOrigin } from '../limiter/events.ts'
import type { Entry } from '../stores/store.ts'
import { isUnits } from '../internal/validation.ts'
import { InputError } from '../errors.ts'
import { parseJson } from '../internal/attempt.ts'

/** A reservation as plain data. It names keys of the store: do not send it to clients. */
export interface ReservationData {
  readonly id: string
  /**
   * The place of its charges: the store; or, if the store failed, the memory of one process, or none.
   * A store whose reply was lost may have charged it as well.
   */
  readonly madeIn: 'store' | 'memory' | 'nowhere'
  /** The time at which the estimate becomes final, in epoch ms. */
  readonly settleBy: number
  readonly charges: readonly Charge[]
  /** The key of the list of open reservations that it is in, if it is to be released. */
  readonly openKey?: string | undefined
  /** The request that it was made for, if somebody listens to reservations. */
  readonly origin?: ReservationOrigin | undefined
}

/** The charge of a reservation to one policy. */
export interface Charge {
  readonly policy: string
  readonly key: string
  readonly limit: number
  readonly burst: number
  readonly units: number
  /** The position of the policy in the limiter that reserved. */
  readonly index: number
  /** The numbers of a calendar: a settlement after its period charges the next. @default none */
  readonly times?: Readonly<Record<string, number>> | undefined
}

/** Returns the charge of an entry. */
export function chargeOf(entry: Entry, units: number = entry.cost): Charge {
  const { policy, key, limit, burst, index } = entry
  const times = policy.calendar?.timesOf(entry)
  return { policy: policy.name, key, limit, burst, units, index, ...(times && { times }) }
}

/** The key of the mark that allows a reservation to be settled. */
export const markKey = (id: string): string => `hold:${id}`

/** An id; that of a choice after the first ends with its position. */
const ID = /^[0-9a-z]{1,32}(?:C\d\d?)?$/

/** @throws InputError `invalid_reservation` unless `id` can be that of a reservation. */
export function assertReservationId(id: unknown): void {
  if (typeof id === 'string' && ID.test(id) && !id.includes('C')) return
  throw new InputError('invalid_reservation', 'id', 'must be 1 to 32 lower-case letters and digits')
}

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
    ID.test(data.id) &&
    ['store', 'memory', 'nowhere'].includes(data.madeIn ?? '') &&
    Number.isSafeInteger(data.settleBy) &&
    (data.openKey === undefined || data.openKey.startsWith?.('open:')) &&
    (data.origin === undefined || isOrigin(data.origin)) &&
    Array.isArray(data.charges) &&
    data.charges.every(isCharge)
  if (isData) return data as ReservationData
  throw invalidReservation()
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

function isOrigin(value: unknown): boolean {
  const { subject, plan, at, limits } = (value ?? {}) as Partial<ReservationOrigin>
  return (
    isObject(subject) &&
    isObject(limits) &&
    (plan === undefined || typeof plan === 'string') &&
    Number.isSafeInteger(at)
  )
}

function isCharge(value: unknown): boolean {
  const { policy, key, limit, burst, units, index, times } = (value ?? {}) as Partial<Charge>
  return (
    typeof policy === 'string' &&
    typeof key === 'string' &&
    [limit, burst, units, index, ...Object.values(times ?? {})].every(isUnits)
  )
}
