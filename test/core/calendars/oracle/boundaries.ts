import { instantOf, type Span } from './tables.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A kind of period, and the local time at which it begins. */
export interface Anchor {
  readonly every: 'day' | 'week' | 'month' | 'year'
  readonly month: number
  readonly day: number
  /** From 0, Monday. */
  readonly weekday: number
  readonly hour: number
}

/** A day of the Gregorian calendar, in the order in which they come. */
export interface CalendarDay {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly weekday: number
  /** The last day of its month. */
  readonly last: number
  /** The local time at which it begins, as epoch ms in UTC. */
  readonly local: number
}

const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** 1 January 2005, a Saturday, in days since the Unix epoch. */
const FIRST_DAY = 12_784

/** The days of 2005 to 2029, counted one by one. */
export const DAYS: readonly CalendarDay[] = countDays()

function countDays(): CalendarDay[] {
  const days: CalendarDay[] = []
  let [number, weekday] = [FIRST_DAY, 5]
  for (let year = 2005; year < 2030; year += 1) {
    for (const [index, length] of LENGTHS.entries()) {
      const last = index === 1 && year % 4 === 0 ? 29 : length
      for (let day = 1; day <= last; day += 1) {
        days.push({ year, month: index + 1, day, weekday, last, local: number * DAY_MS })
        number += 1
        weekday = (weekday + 1) % 7
      }
    }
  }
  return days
}

function isFirst({ month, day, weekday, last }: CalendarDay, anchor: Anchor): boolean {
  const isDay = day === Math.min(anchor.day, last)
  if (anchor.every === 'week') return weekday === anchor.weekday
  if (anchor.every === 'month') return isDay
  return anchor.every === 'day' || (month === anchor.month && isDay)
}

/** Returns the beginnings of all periods of 2005 to 2029, in epoch ms. Each is later than the one before. */
export function boundariesOf(spans: readonly Span[], anchor: Anchor): number[] {
  const boundaries: number[] = []
  for (const day of DAYS) {
    if (!isFirst(day, anchor)) continue
    const instant = instantOf(spans, day.local + anchor.hour * HOUR_MS)
    if (instant > (boundaries.at(-1) ?? -Infinity)) boundaries.push(instant)
  }
  return boundaries
}

/** Returns the day, hour and minute that clocks show at an instant. */
export function shownAt(
  offset: number,
  instant: number,
): CalendarDay & { hour: number; minute: number } {
  const local = instant + offset
  const day = DAYS[Math.floor(local / DAY_MS) - FIRST_DAY]
  if (!day) throw new RangeError('not from 2005 to 2029')
  const minutes = Math.floor((local - day.local) / MINUTE_MS)
  return { ...day, hour: Math.floor(minutes / 60), minute: minutes % 60 }
}

/** Returns a number with two digits at least. */
export const digits = (value: number): string => `${value}`.padStart(2, '0')

/** Returns an instant in whole minutes as local time with its offset and zone. */
export function textOf(zone: string, offset: number, instant: number): string {
  const { year, month, day, hour, minute } = shownAt(offset, instant)
  const ahead = Math.abs(offset) / MINUTE_MS
  const shift = `${offset < 0 ? '-' : '+'}${digits(Math.floor(ahead / 60))}:${digits(ahead % 60)}`
  const date = [year, digits(month), digits(day)].join('-')
  return `${date}T${digits(hour)}:${digits(minute)}:00${shift}[${zone}]`
}
