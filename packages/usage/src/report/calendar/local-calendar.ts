/* The periods of a report in a time zone. */
import { invalidOption } from '@sluice/core/internal'
import type { Anchor, PeriodStart } from '@sluice/core/calendars'
import {
  ANCHOR_RULE,
  firstInstant,
  isZone,
  localText,
  MIDNIGHT,
  periodAt,
  strokeOfAnchor,
  strokeOfStart,
  ZONE_RULE,
  type Every,
  type Period as Times,
  type Stroke,
} from '@sluice/core/internal/calendars'
import type { LocalPeriod, Period, UsageCalendar } from '../../rows.ts'
import { MAX_PERIODS, timeOf, type Time } from '../read-stored.ts'

/** The options of `usage` that make a calendar. */
export interface CalendarOptions {
  readonly by: Period
  readonly zone?: string
  readonly on?: PeriodStart
  readonly anchor?: Anchor
}

/** A month, a day or a time without an offset, which is a time in the zone. */
const LOCAL = /^(\d{4}-\d\d)(-\d\d)?(?:[T ](\d\d)(:\d\d)?(:\d\d)?)?$/

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

export class LocalCalendar {
  readonly zone: string
  readonly #every: Every
  readonly #stroke: Stroke
  readonly #ofMonths: Stroke

  constructor({ by, zone = 'UTC', on, anchor }: CalendarOptions) {
    if (!isZone(zone)) throw invalidOption('usage.zone', ZONE_RULE, zone)
    this.zone = zone
    // Hours are those of UTC; a time of them without an hour is the start of its day.
    this.#every = by === 'hour' ? 'day' : by
    this.#stroke = strokeOf(this.#every, zone, on, anchor)
    const hasMonths = by === 'month' || anchor !== undefined
    this.#ofMonths = hasMonths ? this.#stroke : { ...MIDNIGHT, hour: this.#stroke.hour }
  }

  /** Returns a time in epoch ms: of a date alone, the start of the period that begins on it. */
  timeOf(option: string, time: Time): number {
    const [, month, day = '-01', hour, minute = ':00', second = ':00'] =
      (typeof time === 'string' && LOCAL.exec(time)) || []
    if (month === undefined) return timeOf(option, time)
    const start = timeOf(option, `${month}${day}T${hour ?? '00'}${minute}${second}Z`)
    return firstInstant(this.zone, start + (hour === undefined ? this.#stroke.hour * HOUR_MS : 0))
  }

  /** Returns the periods from that of `from` to that before `to`, by default `count` of them. */
  periodsBetween(from: number | undefined, to: number, count: number): LocalPeriod[] {
    const last = this.#at(to - 1)
    const first = from === undefined ? this.#startBefore(last, count) : this.#at(from).since
    return this.#between(first, last.finish, (time) => this.#at(time))
  }

  /** Returns what a report says of its calendar, from the start of its first period to the end of its last. */
  factsOf(from: number, to: number): Omit<UsageCalendar, 'periods' | 'undivided'> {
    const { zone } = this
    const [startsAt, endsAt] = [this.textOf(from), this.textOf(to)]
    const at = (time: number): Times => periodAt('month', this.#ofMonths, zone, time)
    return { zone, startsAt, endsAt, months: this.#between(from, to, at) }
  }

  /** Returns an instant as local time with its offset and zone. */
  textOf(time: number): string {
    return localText(this.zone, time)
  }

  #at(time: number): Times {
    return periodAt(this.#every, this.#stroke, this.zone, time)
  }

  /** Returns the start of the first of so many periods that end with this one. */
  #startBefore({ since }: Times, count: number): number {
    let start = since
    for (let left = count; left > 1; left -= 1) start = this.#at(start - 1).since
    return start
  }

  #between(from: number, to: number, at: (time: number) => Times): LocalPeriod[] {
    if (!(from < to && (to - from) / DAY_MS <= MAX_PERIODS)) {
      throw invalidOption('usage.from', `must be before usage.to, by at most ${MAX_PERIODS} days`)
    }
    const periods: LocalPeriod[] = []
    for (let start = from; start < to;) {
      const { since, finish } = at(start)
      const [startsAt, endsAt] = [this.textOf(since), this.textOf(finish)]
      periods.push({ start: since, end: finish, startsAt, endsAt })
      start = finish
    }
    return periods
  }
}

function strokeOf(
  every: Every,
  zone: string,
  on: PeriodStart | undefined,
  anchor: Anchor | undefined,
): Stroke {
  if (anchor === undefined)
    return on === undefined ? MIDNIGHT : strokeOfStart('usage.on', every, on)
  if (on !== undefined) {
    throw invalidOption('usage.anchor', 'must be left out with "on"')
  }
  const stroke = strokeOfAnchor(anchor, zone)
  if (stroke) return stroke
  throw invalidOption('usage.anchor', ANCHOR_RULE, anchor)
}
