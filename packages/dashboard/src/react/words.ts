import type { PolicyView, ProblemView } from '../view.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const UNITS: Readonly<Record<string, string>> = {
  request: 'Requests',
  token: 'Tokens',
  usd: 'Dollars',
  call: 'Calls at once',
}

/** Returns the name of a unit: `Tokens`. */
export const unitName = (unit: string): string => UNITS[unit] ?? unit

/** Returns what a policy limits, in the words of its readers: `Requests a minute on evaluate`. */
export function titleOf({ unit, windowMs, route }: PolicyView): string {
  const what = unitName(unit)
  const title = unit === 'call' ? what : `${what} ${spanOf(windowMs)}`
  return route === undefined ? title : `${title} on ${route}`
}

function spanOf(windowMs: number): string {
  // A balance without an allowance.
  if (windowMs === 0) return 'in credit'
  if (windowMs === DAY_MS) return 'a day'
  if (windowMs === 7 * DAY_MS) return 'a week'
  if (windowMs > 360 * DAY_MS) return 'a year'
  if (windowMs > 27 * DAY_MS) return 'a month'
  if (windowMs === MINUTE_MS) return 'a minute'
  if (windowMs === 60 * MINUTE_MS) return 'an hour'
  return `in ${durationOf(windowMs)}`
}

/** Formats a length of time: `48 s`, `12 min`, `3 h 5 min`. */
export function durationOf(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Formats a number with separators: `12,345`. */
export const countOf = (units: number): string => Math.round(units).toLocaleString('en')

/** Formats micro-dollars, with four decimals below a dollar. */
export const dollarsOf = (micro: number): string =>
  withDigits(micro, Math.abs(micro) < 1_000_000 && micro !== 0 ? 4 : 2)

const withDigits = (micro: number, digits: number): string =>
  `$${(micro / 1_000_000).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`

/** Formats micro-dollars beside an axis: with the decimals that steps of this length need to differ. */
export function axisDollarsOf(micro: number, step: number): string {
  if (micro === 0) return '$0'
  return withDigits(micro, step >= 1_000_000 ? 0 : Math.max(2, 6 - Math.floor(Math.log10(step))))
}

export const amountOf = (unit: string, units: number): string =>
  unit === 'usd' ? dollarsOf(units) : countOf(units)

export const timeOf = (at: number): string => new Date(at).toLocaleTimeString('en-GB')

const CAUSES: Readonly<Record<string, string>> = {
  store_timeout: 'it takes too long',
  store_unreachable: 'it cannot be reached',
  store_unauthorized: 'it refuses the credentials',
  store_refused: 'it refuses commands',
  store_bad_reply: 'its answers make no sense',
  store_conflict: 'others changed the same data again and again',
  store_moved: 'the tenants of this database have moved',
  store_paused: 'it has failed again and again, and is not called for now',
}

/** Says why the store fails. */
export const causeOf = (code: string | undefined): string => CAUSES[code ?? ''] ?? 'it fails'

const PROBLEMS: Readonly<Record<string, string>> = {
  unknown_plan: 'Requests named a plan that does not exist: the default plan applied',
  plan_resolver_failed: 'The plan of a tenant could not be looked up',
  invalid_configuration: 'A setting that was made at run time is invalid: it is ignored',
  configuration_almost_full:
    'Soon no more tenants can have settings of their own: add partitionRecords()',
  extension_failed: 'An addition to a limiter failed: it went on without it',
  model_ends: 'A model that is called will be shut down by its vendor',
  policy_skipped: 'A limit applies to nobody: requests lack what it counts by',
  reservation_lost: 'A call could not be settled: its estimate counts',
  store_recovered: 'The store answers again',
  usage_incomplete: 'Some usage is recorded late, or without its tenant',
  report_failed: 'Findings could not be made',
}

/** Says what a problem means for those who watch. The log has the details. */
export function problemText({ code, message }: ProblemView): string {
  const text = PROBLEMS[code]
  if (text !== undefined) return text
  if (code.startsWith('store_')) return `A request was decided without the store: ${causeOf(code)}`
  return message.replace(/ \(docs\/[^)]*\)/g, '')
}

/** Formats a share of a whole: `12 %`. */
export const percentOf = (part: number, whole: number): string =>
  `${whole === 0 ? 0 : Math.round((100 * part) / whole)} %`
