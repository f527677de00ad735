import type { Algorithm } from '../algorithms/algorithm.ts'
import type { PolicyReason } from '../decision.ts'
import { EVERY, type Calendar, type Every } from '../policies/resets.ts'
import { calendarWindowAlgorithm } from '../algorithms/calendar-window.ts'
import { assertKnownOptions, assertOneOf, invalidOption } from '../internal/validation.ts'
import { CalendarRule } from './calendar-rule.ts'
import type { CalendarOptions } from './options.ts'
import { ANCHOR_RULE, strokeOfAnchor, strokeOfStart, type PeriodStart } from './stroke.ts'
import { DAY_MS, isZone, ZONE_RULE } from './zone.ts'

/** The algorithm of calendars, for the class of Durable Objects that counts them: see `docs/calendars.md`. */
export const calendarAlgorithm: Algorithm = calendarWindowAlgorithm as unknown as Algorithm

/**
 * The periods of a customer's calendar: days, weeks, months or years that begin at a local time, for the option `resets` of
 * `fixedWindow`, `dailyCap`, `monthlyCap` and `budget`. A period that runs keeps its end, also if zone or start change. An
 * hour that clocks skip is the first instant after it; one that comes twice is the first.
 *
 * @throws ConfigError When an option is unknown or out of range, or the runtime does not know the zone.
 * @example
 * monthlyCap({
 *   name: 'monthly',
 *   limit: 10_000,
 *   per: ['tenant'],
 *   resets: calendar({ zone: 'Europe/Berlin', on: { day: 15, hour: 6 } }),
 * })
 */
export function calendar(options: CalendarOptions): Calendar {
  assertKnownOptions('calendar', options, ['every', 'zone', 'on', 'anchor'])
  const { every, zone, on, anchor } = options
  if (every !== undefined) assertOneOf('calendar.every', every, EVERY)
  if (zone !== undefined && typeof zone !== 'function' && !isZone(zone)) {
    throw invalidOption('calendar.zone', `${ZONE_RULE}, or a function`, zone)
  }
  if (on !== undefined && anchor !== undefined) {
    throw invalidOption('calendar.anchor', 'must be left out with "on"')
  }
  const isFixed = anchor !== undefined && typeof anchor !== 'function'
  if (isFixed && !strokeOfAnchor(anchor, 'UTC')) {
    throw invalidOption('calendar.anchor', `${ANCHOR_RULE}, or a function`, anchor)
  }
  if (every !== undefined && typeof on === 'object') strokeOfStart('calendar.on', every, on)

  return {
    configure(factory, { name, window }, own) {
      if (window !== undefined) {
        const message = 'must be left out with "resets", which says when windows end'
        throw invalidOption(`${factory}.window`, message, window)
      }
      const period = periodOf(factory, own, every)
      if (typeof on === 'object') strokeOfStart(`${factory}.resets.on`, period, on)
      const { windowMs, params, reason } = PERIODS[period]
      const rule = new CalendarRule(name, period, params, options)
      return {
        algorithm: calendarWindowAlgorithm as unknown as Algorithm,
        params,
        windowMs,
        reason,
        numbers: rule,
        calendar: rule,
      }
    },
    forDays() {
      const { every: _, ...rest } = options
      if (!on) return calendar(rest)
      const hourOf = (start: PeriodStart | undefined) => start && pickHour(start)
      return calendar({
        ...rest,
        on: typeof on === 'function' ? (subject) => hourOf(on(subject)) : pickHour(on),
      })
    },
  }
}

const pickHour = ({ hour }: PeriodStart): PeriodStart => (hour === undefined ? {} : { hour })

/** Returns the period of a policy. @throws ConfigError When both or none of policy and calendar name one. */
function periodOf(factory: string, own: Every | undefined, every: Every | undefined): Every {
  if (own !== undefined && every !== undefined && own !== every) {
    const message = `must be left out: ${factory} begins anew each ${own}`
    throw invalidOption(`${factory}.resets.every`, message, every)
  }
  return own ?? assertOneOf(`${factory}.resets.every`, every, EVERY)
}

/** The facts of periods. Those of a day and a month have the params of `dailyCap` and `monthlyCap`, with whose counts they go on. */
const PERIODS: Readonly<
  Record<Every, { windowMs: number; params: readonly number[]; reason: PolicyReason }>
> = {
  day: { windowMs: DAY_MS, params: [DAY_MS], reason: 'daily_quota_exceeded' },
  week: { windowMs: 7 * DAY_MS, params: [7 * DAY_MS], reason: 'quota_exceeded' },
  month: { windowMs: 31 * DAY_MS, params: [0], reason: 'monthly_quota_exceeded' },
  year: { windowMs: 366 * DAY_MS, params: [365 * DAY_MS], reason: 'quota_exceeded' },
}
