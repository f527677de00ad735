/* The local time at which the periods of a calendar begin, as options give it. */
import { assertInteger, assertKnownOptions, assertOneOf } from '../internal/validation.ts'
import { DAY_MS, HOUR_MS, localTime } from './zone.ts'
import type { Every } from '../policies/resets.ts'
import { EPOCH_WEEKDAY, type Stroke } from './periods.ts'

/** The days of a week. */
const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

/** The local time at which periods begin: the parts that its kind of period has. */
export interface PeriodStart {
  /** The day on which weeks begin. @default 'monday' */
  readonly weekday?: (typeof WEEKDAYS)[number]
  /** The day of the month from 1 to 31, which is the last day of a shorter month. @default 1 */
  readonly day?: number
  /** The month in which years begin, from 1 to 12. @default 1 */
  readonly month?: number
  /** The hour from 0 to 23. @default 0 */
  readonly hour?: number
}

/**
 * A date whose day and hour return in each period, such as the start of a subscription: local time (`'2026-01-31'`,
 * `'2026-01-31T06'`), or an instant, which is read in the zone: a text with `Z` or an offset, epoch ms, or a `Date`. Minutes
 * are left out.
 */
export type Anchor = string | number | Date

/** The parts of a start that each kind of period has. */
const PARTS: Readonly<Record<Every, readonly (keyof PeriodStart)[]>> = {
  day: ['hour'],
  week: ['weekday', 'hour'],
  month: ['day', 'hour'],
  year: ['month', 'day', 'hour'],
}

/** The start of days, of weeks on Monday, and of months and years on the first. */
export const MIDNIGHT: Stroke = { month: 1, day: 1, weekday: 0, hour: 0 }

/** Returns the local time at which periods begin. @throws ConfigError When a part is out of range, or no part of them. */
export function strokeOfStart(option: string, every: Every, start: PeriodStart): Stroke {
  assertKnownOptions(option, start, PARTS[every])
  const { weekday, day, month, hour } = start
  const name = weekday && assertOneOf(`${option}.weekday`, weekday, WEEKDAYS)
  return {
    month: assertInteger(`${option}.month`, month ?? MIDNIGHT.month, 1, 12),
    day: assertInteger(`${option}.day`, day ?? MIDNIGHT.day, 1, 31),
    weekday: name ? WEEKDAYS.indexOf(name) : MIDNIGHT.weekday,
    hour: assertInteger(`${option}.hour`, hour ?? MIDNIGHT.hour, 0, 23),
  }
}

/** Returns the local time at which periods with this anchor begin; `undefined` if it is none. */
export function strokeOfAnchor(anchor: unknown, zone: string): Stroke | undefined {
  const local = localOf(anchor, zone)
  if (local === undefined) return undefined
  const date = new Date(local)
  const day = Math.floor(local / DAY_MS)
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: (((day + EPOCH_WEEKDAY) % 7) + 7) % 7,
    hour: Math.floor((local - day * DAY_MS) / HOUR_MS),
  }
}

/** The rule of an anchor, for errors. */
export const ANCHOR_RULE =
  'must be a date such as "2026-01-31" or "2026-01-31T06", or an instant: a text with "Z" or an offset, a Date, or milliseconds since 1970, not seconds'

/** Returns a local time, as the epoch ms at which clocks in UTC show it. */
function localOf(anchor: unknown, zone: string): number | undefined {
  const instant = anchor instanceof Date ? anchor.getTime() : anchor
  if (typeof instant === 'number') {
    const isInSeconds = typeof anchor === 'number' && instant < LEAST_NUMBER
    return isTime(instant) && !isInSeconds ? localTime(zone, instant) : undefined
  }
  if (typeof instant !== 'string') return undefined
  const [, date, hour = '00', rest, offset] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d)((?::\d\d){0,2}(?:\.\d{1,9})?)(Z|[+-]\d\d:?\d\d)?)?$/.exec(
      instant,
    ) ?? []
  if (date === undefined) return undefined
  const text = `${date}T${hour}:00:00.000Z`
  // `Date` takes the 30th of February for the 2nd of March.
  const local = Date.parse(text)
  if (Number.isNaN(local) || new Date(local).toISOString() !== text) return undefined
  if (offset === undefined) return local
  const given = Date.parse(`${date}T${hour}${rest || ':00'}${offset}`)
  return isTime(given) ? localTime(zone, given) : undefined
}

/** The least number of milliseconds, in 1973: less would be seconds by mistake. */
const LEAST_NUMBER = 100_000_000_000

const MAX_TIME = 8_640_000_000_000_000

const isTime = (value: number): boolean => Math.abs(value) <= MAX_TIME - DAY_MS
