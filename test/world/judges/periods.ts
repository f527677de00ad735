/* Days and weeks of calendars, from docs/calendars.md: when clocks show what, and the periods that are counted. */
import type { Charged, Count } from './count.ts'
import type { Calendar, Rule, Zone } from './rules.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Returns the given Sunday of a month, the last one for 0, at this hour in UTC. */
function sundayOf(year: number, month: number, which: number, hour: number): number {
  const from = which === 0 ? Date.UTC(year, month + 1, 1) - 7 * DAY_MS : Date.UTC(year, month, 1)
  const day = (7 - new Date(from).getUTCDay()) % 7
  return from + (day + 7 * Math.max(0, which - 1)) * DAY_MS + hour * HOUR_MS
}

/** The minutes by which clocks are ahead of UTC, by zone: laws in force, which no table of the runtime is asked for. */
export const ZONES: Readonly<Record<Zone, (at: number) => number>> = {
  UTC: () => 0,
  'Asia/Kolkata': () => 330,
  'Asia/Tokyo': () => 540,
  'Europe/Berlin': (at) => {
    const year = new Date(at).getUTCFullYear()
    return at >= sundayOf(year, 2, 0, 1) && at < sundayOf(year, 9, 0, 1) ? 120 : 60
  },
  'America/New_York': (at) => {
    const year = new Date(at).getUTCFullYear()
    return at >= sundayOf(year, 2, 2, 7) && at < sundayOf(year, 10, 1, 6) ? -240 : -300
  },
}

/** Tenants whose names begin so are in the second zone of a calendar that has one. */
export const ELSEWHERE = 'a'

/** Returns the length of a period without a change of clocks, in milliseconds. */
const lengthOf = ({ weekday }: Calendar): number => (weekday === undefined ? 1 : 7) * DAY_MS

/** Returns the time for which the end of a period is known after it: a period where the zone is that of a tenant, else a tenth. */
const keptMs = (calendar: Calendar): number =>
  lengthOf(calendar) / (calendar.zones.length > 1 ? 1 : 10)

/** Returns the first end of a period after an instant: the first moment at which clocks show the hour, or a later one. */
function endAfter(calendar: Calendar, key: string, now: number): number {
  const { zones, weekday, hour } = calendar
  if (!Number.isFinite(now)) throw new TypeError(`${key}: ${now} is no time`)
  const isElsewhere = zones.length > 1 && key.includes(`:tenant=${ELSEWHERE}`)
  const offsetAt = ZONES[isElsewhere ? zones[1]! : zones[0]]
  for (let day = Math.floor(now / DAY_MS) - 2; ; day += 1) {
    const local = day * DAY_MS + hour * HOUR_MS
    if (weekday !== undefined && new Date(local).getUTCDay() !== weekday) continue
    let at = local - 15 * HOUR_MS
    while (at + offsetAt(at) * MINUTE_MS < local) at += 15 * MINUTE_MS
    if (at > now) return at
  }
}

/**
 * Units of the period of a calendar. One that runs keeps its end, whoever charges it. The next ends at the next end of who
 * begins it, or the one after if it would be shorter than nine tenths since the last end.
 */
export class Period implements Count {
  readonly #rule: Rule
  readonly #key: string
  #end: number
  #units: number
  /** The time until which the last end is known. */
  #keptUntil: number

  constructor(rule: Rule, key: string, end = 0, units = 0, keptUntil = 0) {
    this.#rule = rule
    this.#key = key
    this.#end = end
    this.#units = units
    this.#keptUntil = keptUntil
  }

  get until(): number {
    return this.#end
  }

  used(_: Rule, now: number): number {
    return now < this.#end ? this.#units : 0
  }

  turnMs(): number {
    return 0
  }

  /** The end of the period that a charge at this time is counted in. */
  endAt(now: number, { calendar }: Rule = this.#rule): number {
    if (now < this.#end) return this.#end
    // A cap in UTC, such as that of an app from before the calendar.
    if (!calendar) return (Math.floor(now / DAY_MS) + 1) * DAY_MS
    const end = endAfter(calendar, this.#key, now)
    const isShort = now < this.#keptUntil && end - this.#end < 0.9 * lengthOf(calendar)
    return isShort ? endAfter(calendar, this.#key, end) : end
  }

  charge(units: number, now: number, _: string, rule?: Rule): void {
    this.#units = this.used(this.#rule, now) + units
    this.#end = this.endAt(now, rule)
    const { calendar } = rule ?? this.#rule
    this.#keptUntil = this.#end + (calendar ? keptMs(calendar) : 0)
  }

  correct({ units, until }: Charged, actual: number, now: number, rule?: Rule): number {
    const more = actual - units
    if (more > 0) {
      this.charge(more, now, '', rule)
      return more
    }
    if (units === 0 || until !== this.#end || now >= this.#end) return 0
    const given = Math.min(this.#units, -more)
    this.#units -= given
    return -given + 0
  }

  copy(): Period {
    return new Period(this.#rule, this.#key, this.#end, this.#units, this.#keptUntil)
  }
}

/**
 * Returns true if a caller does not know the end of the period that it would begin: the three that it names are those about
 * another time than the store's. Says which of them is no end.
 */
export function lacksEnd(
  count: Count,
  { rule, key, ends }: { rule: Rule; key: string; ends: readonly number[] },
  now: number,
  accuse: (what: string) => void,
): boolean {
  const { calendar } = rule
  if (!calendar || !(count instanceof Period)) return false
  for (const end of ends) {
    if (endAfter(calendar, key, end - 1) !== end) {
      accuse(`${rule.name} was decided by the end ${end}, which is none`)
    }
  }
  const [since = 0, finish = 0] = ends
  if (now < count.until || (since <= now && now < finish)) return false
  // The start of the caller's own period, if it is far ahead, is not taken for the end of one that it knows nothing of.
  const isAhead = since - now > lengthOf(calendar) / 2
  return isAhead || !ends.includes(count.endAt(now, rule))
}
