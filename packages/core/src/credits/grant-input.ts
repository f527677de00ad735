/* The input of a grant or another change of a balance. */
import { InputError } from '../errors.ts'

/** A time: a `Date`, an ISO 8601 text with an offset or `Z`, or epoch milliseconds. */
export type Instant = Date | string | number

/** Returns the note of a change for the journal, as JSON. @throws InputError When the reason is no text. */
export function noteOf(id: string, reason: string | undefined): string {
  if (reason === undefined) return JSON.stringify({ id })
  if (typeof reason !== 'string') throw invalid('reason', 'must be a text')
  return JSON.stringify({ id, reason: reason.slice(0, 500) })
}

/** @throws InputError Unless it can be the id of a change or of a reservation. */
export function assertId(id: unknown): void {
  if (typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id)) return
  throw invalid('id', 'must be 1 to 128 printable ASCII characters without spaces')
}

const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Returns a time in epoch ms. @throws InputError When it is none. */
export function msOf(field: string, time: Instant): number {
  const isText = typeof time === 'string'
  // Without an offset, it would be another time in a process of another zone.
  let ms = time instanceof Date ? time.getTime() : time
  if (isText) ms = WITH_OFFSET.test(time) ? Date.parse(time) : NaN
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0 || ms > 8.64e15) {
    const rule = 'must be a Date, epoch milliseconds, or a text such as "2027-01-31T23:59:59Z"'
    throw invalid(field, rule)
  }
  if (typeof time === 'number' && time > 1e8 && time < 1e11) {
    throw invalid(field, 'must be milliseconds, not seconds')
  }
  return Math.floor(ms)
}

/** Returns the error of a malformed field. */
export const invalid = (field: string, message: string): InputError =>
  new InputError('invalid_grant', field, message)
