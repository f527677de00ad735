/* Settings that end by themselves, stored in the field `temporary` of the lasting ones. */
import { invalidOption } from '../internal/validation.ts'

/** A time: a `Date`, milliseconds since the Unix epoch, or an ISO 8601 text with a zone (`'2026-11-28T18:00Z'`). */
export type Until = Date | number | string

/** The longest time for which settings may be temporary. */
const MAX_DAYS = 366

const IS_A_TIME =
  'a Date, epoch milliseconds, or an ISO 8601 text with a zone, such as "2026-11-28T18:00Z"'

const DATE_AND_ZONE = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Returns a time in milliseconds since the Unix epoch; `NaN` if it is none. */
function parseTime(value: unknown): number {
  if (typeof value === 'number' || value instanceof Date) return new Date(value).getTime()
  const date = typeof value === 'string' ? DATE_AND_ZONE.exec(value)?.[1] : undefined
  return date !== undefined && isInCalendar(date) ? Date.parse(value as string) : Number.NaN
}

/** Returns false for the 30th of February, which `Date.parse` takes for the 2nd of March. */
export const isInCalendar = (date: string): boolean =>
  new Date(Date.parse(date) || 0).toJSON().startsWith(date)

/** Returns a time in milliseconds since the Unix epoch. @throws ConfigError When it is none. */
export function assertTime(option: string, value: unknown): number {
  const time = parseTime(value)
  if (!Number.isNaN(time)) return time
  throw invalidOption(option, `must be ${IS_A_TIME}`, value)
}

/** Returns the end of a change that is made now. @throws ConfigError When it is out of range. */
export function assertUntil(option: string, value: unknown, now: number): number {
  const time = assertTime(option, value)
  if (time > now && time <= now + MAX_DAYS * 86_400_000) return time
  const message = `must be in the future, at most ${MAX_DAYS} days from now`
  throw invalidOption(option, message, new Date(time).toJSON())
}

/** Returns true before the end of temporary settings. */
export function isCurrent({ until }: { readonly until: number }, now: number): boolean {
  return now < until
}

/** Returns stored settings without temporary ones that have ended; `undefined` if there are no others. */
export function removeEnded(stored: unknown, now: number): unknown {
  const { temporary } = (stored ?? {}) as {
    readonly temporary?: { readonly until?: unknown } | null
  }
  // Another version may have written what is no time here, so it stays.
  if (!(parseTime(temporary?.until) <= now)) return stored
  const others = Object.entries(stored as object).filter(([name]) => name !== 'temporary')
  return others.length > 0 ? Object.fromEntries(others) : undefined
}

/** Returns stored temporary settings without the named ones; `undefined` if there are no others. */
export function removeTemporary(stored: unknown, names: readonly string[]): unknown {
  if (typeof stored !== 'object' || stored === null) return undefined
  const others = Object.entries(stored).filter(([name]) => !names.includes(name))
  return others.some(([name]) => name !== 'until') ? Object.fromEntries(others) : undefined
}
