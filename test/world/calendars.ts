/* Calendars of a world's apps, drawn from its seed. */
import { ruleOf, type Deployment } from './deployments.ts'
import { ZONES } from './judges/periods.ts'
import type { Calendar, Rule, Zone } from './judges/rules.ts'
import type { Random } from './random.ts'
import { isInObjects, type WrapperName } from './wrappers.ts'

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000]

/** The zones whose clocks change. */
const CHANGING = ['Europe/Berlin', 'America/New_York'] as const

/** When the calendars of a world apply, and the zone whose clocks change then. */
export interface Stroke {
  readonly startMs: number
  readonly changing: Zone | undefined
}

/**
 * Draws whether a world has calendars. One that does begins shortly before the hour at which most of its periods end, or
 * the hour that clocks skip, or the first of one that comes twice.
 */
export function strokeOf(startMs: number, random: Random): Stroke | undefined {
  if (!random.chance(0.5)) return undefined
  const before = random.whole(1, random.pick([300, 3_000, 20_000]))
  const changing = random.chance(0.35) ? random.pick(CHANGING) : undefined
  const end = changing
    ? changeOf(changing, new Date(startMs).getUTCFullYear(), random.chance(0.6))
    : Math.floor(startMs / HOUR_MS + 1) * HOUR_MS
  return { startMs: end - before, changing }
}

/** Returns when clocks go forward, or the first time at which they show the hour that they show twice. */
function changeOf(zone: Zone, year: number, isForward: boolean): number {
  const offsetAt = ZONES[zone]
  for (let at = Date.UTC(year, isForward ? 0 : 5); ; at += HOUR_MS) {
    const more = offsetAt(at) - offsetAt(at - 1)
    if (isForward ? more > 0 : more < 0) return isForward ? at : at - HOUR_MS
  }
}

/** Draws caps of a day, which each app has: some in UTC, as before they had a calendar. */
export function daysOf(names: readonly string[], random: Random): Deployment[] {
  const count = random.whole(1, 2)
  const rules = Array.from({ length: count }, (_, number) => {
    const unit = random.pick(['request', 'token', 'usd'])
    return ruleOf(random, `day${number}`, 'daily', unit)
  })
  return names.map((name) => ({ name, rules }))
}

/**
 * Gives most of these caps a calendar: in all apps that run beside each other the same, or another where a judge sees which
 * app charges.
 */
export function withCalendars(
  deployments: readonly Deployment[],
  stroke: Stroke,
  wrappers: WrapperName,
  random: Random,
): Deployment[] {
  const calendars = new Map<string, Calendar>()
  return deployments.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => {
      if (rule.kind !== 'daily') return rule
      // An app from before the calendar counts beside those that have it.
      if (random.chance(0.2)) return rule
      const known = calendars.get(rule.name)
      const isOther = known && !isInObjects(wrappers) && random.chance(0.7)
      const drawn = known && !isOther ? known : calendarOf(rule, stroke, known ? 0.2 : 0.8, random)
      // One key is of days, or of weeks.
      const calendar = known ? { ...drawn, weekday: known.weekday } : drawn
      calendars.set(rule.name, calendar)
      const windowMs = calendar.weekday === undefined ? DAY_MS : 7 * DAY_MS
      return { ...rule, calendar, windowMs, longestMs: windowMs }
    }),
  }))
}

/** A calendar whose period ends with the hour in which a world begins, so likely. */
function calendarOf(
  { per }: Rule,
  { startMs, changing }: Stroke,
  likely: number,
  random: Random,
): Calendar {
  const anyZone = (): Zone => random.pick(Object.keys(ZONES) as Zone[])
  const zone = changing && random.chance(0.8) ? changing : anyZone()
  const isOfTenant = per !== 'global' && per.includes('tenant') && random.chance(0.4)
  const zones: Calendar['zones'] = isOfTenant ? [zone, anyZone()] : [zone]
  const end = Math.floor(startMs / HOUR_MS + 1) * HOUR_MS
  const local = new Date(end + ZONES[zone](end - 1) * MINUTE_MS)
  const hour = random.chance(likely) ? local.getUTCHours() : random.whole(0, 23)
  return { zones, hour, ...(random.chance(0.3) && { weekday: local.getUTCDay() }) }
}
