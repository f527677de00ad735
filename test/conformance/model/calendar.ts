import { dailyCap, fixedWindow, monthlyCap, type Policy, type PolicyOptions } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import * as fc from 'fast-check'

/** Periods of a zone whose clocks are never changed, and where they begin. */
export interface CalendarOf {
  readonly every: 'day' | 'week' | 'month' | 'year'
  /** Hours by which the zone is ahead of UTC. */
  readonly ahead: number
  /** From 1 to 12. */
  readonly month: number
  /** From 1 to 31: the last one of a shorter month. */
  readonly day: number
  /** From 0, Monday, to 6. */
  readonly weekday: number
  readonly hour: number
  /** Where zone and start are functions. */
  readonly isMoving: boolean
}

export const calendars: fc.Arbitrary<CalendarOf> = fc.record({
  every: fc.constantFrom('day', 'week', 'month', 'year'),
  ahead: fc.integer({ min: -12, max: 14 }),
  month: fc.integer({ min: 1, max: 12 }),
  day: fc.oneof(fc.constantFrom(1, 28, 29, 30, 31), fc.integer({ min: 1, max: 31 })),
  weekday: fc.nat(6),
  hour: fc.nat(23),
  isMoving: fc.boolean(),
})

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The spans of days that are known to end with one period. */
const known = new WeakMap<CalendarOf, { from: number; to: number }[]>()

/** Returns the end (epoch ms) of the period that holds `now`: the first day on which one begins, day by day. */
export function calendarEnd(given: CalendarOf, now: number): number {
  const { ahead, hour } = given
  // The local time since the hour at which days begin, as a time in UTC.
  const shift = (ahead - hour) * HOUR_MS
  const today = Math.floor((now + shift) / DAY_MS)
  const spans = known.get(given) ?? []
  let span = spans.find(({ from, to }) => from <= today && today < to)
  if (!span) {
    span = { from: today, to: today + 1 }
    while (!beginsOn(given, new Date(span.to * DAY_MS))) span.to += 1
    known.set(given, [...spans, span])
  }
  return span.to * DAY_MS - shift
}

function beginsOn({ every, month, day, weekday }: CalendarOf, date: Date): boolean {
  if (every === 'day') return true
  if (every === 'week') return (date.getUTCDay() + 6) % 7 === weekday
  if (every === 'year' && date.getUTCMonth() !== month - 1) return false
  const isLast = new Date(date.getTime() + DAY_MS).getUTCDate() === 1
  return isLast ? date.getUTCDate() <= day : date.getUTCDate() === day
}

const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

/** Returns the policy that counts in these periods. */
export function calendarPolicy(given: CalendarOf, common: PolicyOptions): Policy {
  const { every, ahead, month, day, weekday, hour, isMoving } = given
  // POSIX counts what a zone is behind UTC.
  const name = ahead === 0 ? 'UTC' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`
  const starts = {
    day: { hour },
    week: { weekday: WEEKDAYS[weekday] ?? 'monday', hour },
    month: { day, hour },
    year: { month, day, hour },
  }
  const on = starts[every]
  const resets = isMoving
    ? calendar({ every, zone: () => name, on: () => on })
    : calendar({ every, zone: name, on })
  if (every === 'day') return dailyCap({ ...common, resets })
  return every === 'month' ? monthlyCap({ ...common, resets }) : fixedWindow({ ...common, resets })
}
