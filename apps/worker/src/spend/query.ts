import { firstInstant, isZone, localText } from '@sluice/core/internal/calendars'

/** The names by which usage can be summed up. */
const NAMES = ['tenant', 'team', 'user', 'key', 'model', 'plan', 'day', 'hour'] as const

export type Name = (typeof NAMES)[number]

/** A question about usage. */
export interface SpendQuery {
  /** The first day, such as 2026-11-01. */
  readonly first: string
  /** The last day. */
  readonly last: string
  /** The starts of all days, and the end of the last, in epoch ms. */
  readonly days: readonly number[]
  /** The time zone of days. @default UTC */
  readonly zone: string | undefined
  /** The names to sum up by. */
  readonly by: readonly Name[]
  /** The only organisation to read. @default all */
  readonly tenant: string | undefined
  readonly format: 'json' | 'csv'
}

/** The rights of an operator's key. */
export interface Scope {
  /** The only organisation that it may see. @default all */
  readonly tenant?: string | undefined
}

export const DAY_MS = 86_400_000

/** The day of a time in a zone, such as 2026-11-01. */
const dateOf = (ms: number, zone = 'UTC'): string =>
  zone === 'UTC' ? new Date(ms).toISOString().slice(0, 10) : localText(zone, ms).slice(0, 10)

/** All days from the first to the last, such as 2026-11-01. */
export const datesOf = ({ first, days }: SpendQuery): string[] =>
  days.slice(1).map((_, index) => dateOf(Date.parse(first) + index * DAY_MS))

/** The most days of one question. Each is a read of the store, of which a Worker may send 50 for free. */
const MAX_DAYS = 31

const DATE = /^\d{4}-\d\d-\d\d$/

/**
 * Parses `from`, `to` (dates, both included), `zone`, `by`, `tenant` and `format`. The default is the current month by
 * organisation.
 *
 * @returns The sentence to refuse it with, if it is malformed.
 */
export function parseQuery(parameters: URLSearchParams, now: number): SpendQuery | string {
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.has(name))
  if (unknown !== undefined) {
    return `There is no parameter ${quoted(unknown)}; there are ${[...PARAMETERS].join(', ')}.`
  }
  const zone = parameters.get('zone') || undefined
  if (zone !== undefined && !isZone(zone)) {
    return `zone must be a time zone, such as Europe/Berlin; ${quoted(zone)} is none.`
  }
  const today = dateOf(now, zone)
  const last = parameters.get('to') || today
  const first = parameters.get('from') || [`${last.slice(0, 8)}01`, last].toSorted()[0] || last
  const [from, to] = [timeOf(first), timeOf(last)]
  if (from === undefined || to === undefined) {
    return `from and to must be days${zone === undefined ? ' (UTC)' : ''}, such as 2026-11-01.`
  }
  const count = (to - from) / DAY_MS + 1
  if (!(count >= 1 && count <= MAX_DAYS))
    return `from must be before to, by at most ${MAX_DAYS} days.`
  const by = (parameters.get('by') || 'tenant').split(',').map((name) => name.trim())
  const other = by.find((name) => !NAMES.includes(name as Name))
  if (other !== undefined) return `by has ${quoted(other)}, and may have ${NAMES.join(', ')}.`
  const format = parameters.get('format') || 'json'
  if (format !== 'json' && format !== 'csv') return 'format must be json or csv.'
  const tenant = parameters.get('tenant') || undefined
  const days = Array.from({ length: count + 1 }, (_, index) => from + index * DAY_MS)
  const starts = zone === undefined ? days : days.map((day) => firstInstant(zone, day))
  return { first, last, days: starts, zone, by: [...new Set(by as Name[])], tenant, format }
}

const PARAMETERS: ReadonlySet<string> = new Set(['from', 'to', 'zone', 'by', 'tenant', 'format'])

const quoted = (text: string): string => JSON.stringify(text.slice(0, 40))

/** Returns the start of a day that the calendar has. */
function timeOf(date: string): number | undefined {
  const ms = DATE.test(date) ? Date.parse(date) : Number.NaN
  return new Date(ms || 0).toISOString().startsWith(date) ? ms : undefined
}
