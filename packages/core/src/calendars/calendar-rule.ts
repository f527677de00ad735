/* A calendar in a policy: the ends of its periods, computed for each request. */
import type { Finding } from '../algorithms/algorithm.ts'
import type {
  CalendarSettings,
  RequestFacts,
  RequestNumbers,
  RuleCalendar,
} from '../policies/policy.ts'
import type { Every } from '../policies/resets.ts'
import type { Subject } from '../subject.ts'
import type { CalendarOptions, OfSubject, SubjectValues } from './options.ts'
import {
  CALENDAR_NUMBERS,
  periodLength,
  type CalendarNumbers,
} from '../algorithms/calendar-window.ts'
import type { ConfigError } from '../errors.ts'
import { invalidOption } from '../internal/validation.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { periodAt, type Period, type Stroke } from './periods.ts'
import { ANCHOR_RULE, MIDNIGHT, strokeOfAnchor, strokeOfStart } from './stroke.ts'
import { isZone, localText, MINUTE_MS, ZONE_RULE } from './zone.ts'

/** The calendars to remember the running period of: computing one takes a tenth of a millisecond. */
const MAX_PERIODS = 1_000

/** The least difference between two clocks that is a new one, in milliseconds. */
const NEW_DIFFERENCE_MS = MINUTE_MS

/** The facts of an entry: its numbers, and what the rule itself needs later. */
interface CalendarEntry extends CalendarNumbers {
  readonly zone: string
  /** The time by which the store was taken to be ahead of the caller, in milliseconds. */
  readonly aheadMs: number
}

type Report = RequestFacts['report']

export class CalendarRule implements RequestNumbers, RuleCalendar {
  readonly times: typeof CALENDAR_NUMBERS = CALENDAR_NUMBERS
  readonly names: readonly string[] = ['limit', ...CALENDAR_NUMBERS, 'cost']
  readonly #policy: string
  readonly #every: Every
  /** The length by which a period is checked, in milliseconds. */
  readonly #length: number
  /** The time for which a key lives on after its period. */
  #outlive: number
  readonly #options: CalendarOptions
  readonly #periods = new RecentItems<Period>(MAX_PERIODS)
  /** The time by which the store is ahead of this process: the periods are those of its time. */
  #aheadMs = 0

  constructor(policy: string, every: Every, params: readonly number[], options: CalendarOptions) {
    this.#policy = policy
    this.#every = every
    this.#options = options
    this.#length = periodLength(params)
    const { zone, on, anchor } = options
    const isOfSubject = [zone, on, anchor].some((part) => typeof part === 'function')
    this.#outlive = isOfSubject ? this.#length : this.#length / 10
  }

  of(
    { subject, now, report }: RequestFacts,
    { calendar }: { readonly calendar?: CalendarSettings | undefined } = {},
  ): Readonly<Record<keyof CalendarEntry, unknown>> {
    const zone = this.#zoneOf(calendar, subject, report)
    const { since, finish, following } = this.#periodAt(
      zone,
      this.#strokeOf(calendar, subject, zone, report),
      now + this.#aheadMs,
    )
    return {
      // A clock of tests may be at the Unix epoch.
      since: Math.max(0, since),
      finish,
      following,
      outlive: calendar ? this.#length : this.#outlive,
      zone,
      aheadMs: this.#aheadMs,
    }
  }

  learn(
    entry: Partial<CalendarEntry>,
    verdict: Finding | undefined,
    storeTime: number,
    { now, report }: RequestFacts,
  ): boolean {
    if (verdict?.resetMs !== 0) return false
    const aheadMs = storeTime - now
    if (Math.abs(aheadMs - (entry.aheadMs ?? 0)) < NEW_DIFFERENCE_MS) {
      const message = `policies.${this.#policy}: no period that this process knows ends soon after the time of the store, so nothing was charged; compare their clocks, and the versions of their time zones`
      report({ code: 'calendar_unknown', message })
    }
    this.#aheadMs = aheadMs
    return true
  }

  timesOf({ since, finish, following, outlive }: CalendarNumbers): Record<string, number> {
    return { since, finish, following, outlive }
  }

  resetsAt({ zone }: Partial<CalendarEntry>, now: number, resetMs: number): string | undefined {
    // Periods end at whole minutes. The end of an answer from a cache or a lease is off by what its way has taken.
    const end = Math.round((now + resetMs) / MINUTE_MS) * MINUTE_MS
    return resetMs > 0 ? localText(zone ?? 'UTC', end) : undefined
  }

  get zone(): string | undefined {
    const { zone = 'UTC' } = this.#options
    return typeof zone === 'function' ? undefined : zone
  }

  get isFixed(): boolean {
    return this.#outlive < this.#length
  }

  allowSettings(): void {
    this.#outlive = this.#length
  }

  assertSetting(option: string, setting: keyof CalendarSettings, value: unknown): void {
    // Stored as JSON.
    const isText = typeof value === 'string'
    if (isText && (setting === 'zone' ? isZone(value) : strokeOfAnchor(value, 'UTC'))) return
    const rule = setting === 'zone' ? ZONE_RULE : ANCHOR_RULE
    throw invalidOption(option, rule, value)
  }

  #zoneOf(calendar: CalendarSettings | undefined, subject: Subject, report: Report): string {
    const zone: unknown = calendar?.zone ?? valueFor(this.#options.zone, subject) ?? 'UTC'
    if (isZone(zone)) return zone
    const message = `policies.${this.#policy}: ${shown(zone)} is no time zone that this runtime knows; UTC applies`
    report({ code: 'calendar_unknown', source: 'subject', message })
    return 'UTC'
  }

  #strokeOf(
    calendar: CalendarSettings | undefined,
    subject: Subject,
    zone: string,
    report: Report,
  ): Stroke {
    const { on, anchor: anchors } = this.#options
    const anchor: unknown = calendar?.anchor ?? valueFor(anchors, subject)
    const start = anchor === undefined ? valueFor(on, subject) : undefined
    const option = `policies.${this.#policy}`
    if (start !== undefined) {
      try {
        return strokeOfStart(option, this.#every, start)
      } catch (error) {
        const { message } = error as ConfigError
        report({ code: 'calendar_unknown', source: 'subject', message })
      }
    } else if (anchor !== undefined) {
      const stroke = strokeOfAnchor(anchor, zone)
      if (stroke) return stroke
      const message = `${option}: ${shown(anchor)} is no anchor: it ${ANCHOR_RULE}; periods begin as without one`
      report({ code: 'calendar_unknown', source: 'subject', message })
    }
    return MIDNIGHT
  }

  /** Returns the period that a time is in, which is computed once. */
  #periodAt(zone: string, stroke: Stroke, now: number): Period {
    const { month, day, weekday, hour } = stroke
    const name = `${zone} ${month} ${day} ${weekday} ${hour}`
    const known = this.#periods.get(name)
    if (known && known.since <= now && now < known.finish) return known
    const period = periodAt(this.#every, stroke, zone, now)
    this.#periods.set(name, period)
    return period
  }
}

function valueFor<T>(given: OfSubject<T> | undefined, subject: Subject): T | undefined {
  return typeof given === 'function'
    ? (given as (subject: SubjectValues) => T | undefined)(subject as SubjectValues)
    : given
}

/** Returns a value for a message: only its beginning, because it may come from outside. */
const shown = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 64)) : `a value of type ${typeof value}`
