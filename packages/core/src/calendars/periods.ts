/* The periods of a calendar: days, weeks, months and years in a zone. */
import type { Every } from '../policies/resets.ts'
import { DAY_MS, firstInstant, HOUR_MS, localTime } from './zone.ts'

/** The local time at which periods begin. Each kind uses its own part of it. */
export interface Stroke {
  /** From 1, January, to 12. */
  readonly month: number
  /** From 1 to 31, which is the last day of a shorter month. */
  readonly day: number
  /** From 0, Monday, to 6. */
  readonly weekday: number
  /** From 0 to 23. */
  readonly hour: number
}

/** The period that an instant is in, in epoch ms. */
export interface Period {
  readonly since: number
  readonly finish: number
  /** The end of the next period. */
  readonly following: number
}

/** Returns the period that `now` (epoch ms) is in. Where a zone skips a whole day, there is none for that day. */
export function periodAt(every: Every, stroke: Stroke, zone: string, now: number): Period {
  const { numberOf, dateOf } = KINDS[every]
  const begin = (number: number): number =>
    firstInstant(zone, dateOf(number, stroke) * DAY_MS + stroke.hour * HOUR_MS)
  const day = Math.floor(localTime(zone, now) / DAY_MS)
  let number = numberOf(day, stroke) + 1
  let since = begin(number)
  while (since > now) since = begin(--number)
  const after = (time: number): number => {
    let next = begin(++number)
    while (next <= time) next = begin(++number)
    return next
  }
  const finish = after(now)
  return { since, finish, following: after(finish) }
}

interface Kind {
  /** Returns the number of the period that begins on or about a day, in days since the Unix epoch. */
  readonly numberOf: (day: number, stroke: Stroke) => number
  /** Returns the first day of a period, in days since the Unix epoch. */
  readonly dateOf: (number: number, stroke: Stroke) => number
}

/** The Unix epoch was a Thursday. */
export const EPOCH_WEEKDAY = 3

const KINDS: Readonly<Record<Every, Kind>> = {
  day: { numberOf: (day) => day, dateOf: (number) => number },
  week: {
    numberOf: (day, { weekday }) => Math.floor((day + EPOCH_WEEKDAY - weekday) / 7),
    dateOf: (number, { weekday }) => 7 * number - EPOCH_WEEKDAY + weekday,
  },
  month: {
    numberOf: (day) => monthOf(day),
    dateOf: (number, { day }) => dayOfMonth(number, day),
  },
  year: {
    numberOf: (day) => Math.floor(monthOf(day) / 12),
    dateOf: (number, { month, day }) => dayOfMonth(12 * number + month - 1, day),
  },
}

const EPOCH_YEAR = 1970

/** Returns the number of the month that a day is in, in months since the Unix epoch. */
function monthOf(day: number): number {
  const date = new Date(day * DAY_MS)
  return 12 * (date.getUTCFullYear() - EPOCH_YEAR) + date.getUTCMonth()
}

/** Returns a day of a month, or the last one if it is shorter, in days since the Unix epoch. */
function dayOfMonth(month: number, day: number): number {
  return Math.min(firstOfMonth(month) + day, firstOfMonth(month + 1)) - 1
}

const firstOfMonth = (month: number): number => Date.UTC(EPOCH_YEAR, month) / DAY_MS
