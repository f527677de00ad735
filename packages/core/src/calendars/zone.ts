/* The time of day in a zone, by the runtime's own tables (`Intl`). */
import { RecentItems } from '../internal/recent-items.ts'
import { attempt } from '../internal/attempt.ts'

const SECOND_MS = 1_000
export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** The formatters to keep: one takes long to make, and half a megabyte. */
const MAX_FORMATTERS = 50

/** The names to remember, of zones and of none. The longest name of a zone has 32 characters. */
const [MAX_NAMES, MAX_LENGTH] = [1_000, 64]

const formatters = new RecentItems<Intl.DateTimeFormat>(MAX_FORMATTERS)
const names = new RecentItems<boolean>(MAX_NAMES)

/** Returns the formatter of a zone. @throws RangeError When the runtime does not know the zone. */
function formatterOf(zone: string): Intl.DateTimeFormat {
  // Names of zones are equal in any case.
  const name = zone.toLowerCase()
  const known = formatters.get(name)
  if (known) return known
  const numeric = 'numeric'
  const formatter = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone: zone,
    hourCycle: 'h23',
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  })
  formatters.set(name, formatter)
  return formatter
}

/** The rule of a zone, for errors. */
export const ZONE_RULE =
  'must be a time zone of the IANA database that this runtime knows, such as "Europe/Berlin"'

/** Returns true if the runtime knows the zone, such as `Europe/Berlin`. */
export function isZone(zone: unknown): zone is string {
  if (typeof zone !== 'string' || zone === '' || zone.length > MAX_LENGTH) return false
  let isKnown = names.get(zone)
  if (isKnown === undefined) {
    isKnown = attempt(() => formatterOf(zone) !== undefined, false)
    names.set(zone, isKnown)
  }
  return isKnown
}

/** Returns the local time of an instant, as the epoch ms at which clocks in UTC show the same. */
export function localTime(zone: string, instant: number): number {
  const fields = { year: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0 }
  for (const { type, value } of formatterOf(zone).formatToParts(instant)) {
    if (type in fields) fields[type as keyof typeof fields] = Number(value)
  }
  const { year, month, day, hour, minute, second } = fields
  const ms = ((instant % SECOND_MS) + SECOND_MS) % SECOND_MS
  return Date.UTC(year, month - 1, day, hour, minute, second, ms)
}

const offsetAt = (zone: string, instant: number): number => localTime(zone, instant) - instant

/**
 * Returns the first instant at which clocks in a zone show this local time, or a later one if they skip it: so an hour that
 * comes twice is the first, and one that does not exist the first instant after it.
 *
 * @param local As `localTime` returns it, in whole seconds.
 */
export function firstInstant(zone: string, local: number): number {
  // Local times differ from UTC by less than a day.
  const [before, after] = [local - DAY_MS, local + DAY_MS]
  const [early, late] = [offsetAt(zone, before), offsetAt(zone, after)]
  if (early === late && offsetAt(zone, local - early) === early) return local - early
  const change = changeBetween(zone, before, after, early)
  if (local - early < change) return local - early
  return Math.max(change, local - offsetAt(zone, change))
}

/** Returns the first instant, between two on whole seconds, at which the offset of a zone is another one than before. */
function changeBetween(zone: string, before: number, after: number, offset: number): number {
  let [low, high] = [before / SECOND_MS, after / SECOND_MS]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(zone, middle * SECOND_MS) === offset) low = middle
    else high = middle
  }
  return high * SECOND_MS
}

const texts = new RecentItems<string>(MAX_NAMES)

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** Returns an instant as local time with its offset and zone (RFC 9557), such as `2026-12-01T00:00:00+01:00[Europe/Berlin]`. */
export function localText(zone: string, instant: number): string {
  const name = `${zone} ${instant}`
  const known = texts.get(name)
  if (known !== undefined) return known
  const offset = Math.round(offsetAt(zone, instant) / MINUTE_MS)
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const time = new Date(instant + offset * MINUTE_MS).toISOString().slice(0, 19)
  const text = `${time}${offset < 0 ? '-' : '+'}${twoDigits(hours)}:${twoDigits(minutes)}[${zone}]`
  texts.set(name, text)
  return text
}
