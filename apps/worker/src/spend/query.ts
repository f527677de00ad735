/** The names by which usage can be summed up. */
const NAMES = ['tenant', 'team', 'user', 'key', 'model', 'plan', 'day', 'hour'] as const

export type Name = (typeof NAMES)[number]

/** A question about usage. */
export interface SpendQuery {
  /** The start of the first day (UTC), in epoch ms. */
  readonly from: number
  /** The end of the last day, in epoch ms. */
  readonly to: number
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

/** The day (UTC) of a time, such as 2026-11-01. */
export const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** The most days of one question. Each is a read of the store, of which a Worker may send 50 for free. */
const MAX_DAYS = 31

const DATE = /^\d{4}-\d\d-\d\d$/

/**
 * Parses `from`, `to` (dates, both included), `by`, `tenant` and `format`. The default is the current month by
 * organisation.
 *
 * @returns The sentence to refuse it with, if it is malformed.
 */
export function parseQuery(parameters: URLSearchParams, now: number): SpendQuery | string {
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.has(name))
  if (unknown !== undefined) {
    return `There is no parameter ${quoted(unknown)}; there are ${[...PARAMETERS].join(', ')}.`
  }
  const today = dateOf(now)
  const last = parameters.get('to') || today
  const first = parameters.get('from') || [`${last.slice(0, 8)}01`, last].toSorted()[0] || last
  const [from, to] = [timeOf(first), timeOf(last)]
  if (from === undefined || to === undefined) {
    return 'from and to must be days (UTC), such as 2026-11-01.'
  }
  const days = (to - from) / DAY_MS + 1
  if (!(days >= 1 && days <= MAX_DAYS))
    return `from must be before to, by at most ${MAX_DAYS} days.`
  const by = (parameters.get('by') || 'tenant').split(',').map((name) => name.trim())
  const other = by.find((name) => !NAMES.includes(name as Name))
  if (other !== undefined) return `by has ${quoted(other)}, and may have ${NAMES.join(', ')}.`
  const format = parameters.get('format') || 'json'
  if (format !== 'json' && format !== 'csv') return 'format must be json or csv.'
  const tenant = parameters.get('tenant') || undefined
  return { from, to: to + DAY_MS, by: [...new Set(by as Name[])], tenant, format }
}

const PARAMETERS: ReadonlySet<string> = new Set(['from', 'to', 'by', 'tenant', 'format'])

const quoted = (text: string): string => JSON.stringify(text.slice(0, 40))

/** Returns the start of a day that the calendar has. */
function timeOf(date: string): number | undefined {
  const ms = DATE.test(date) ? Date.parse(date) : Number.NaN
  return new Date(ms || 0).toISOString().startsWith(date) ? ms : undefined
}
