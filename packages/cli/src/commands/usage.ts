import { durationOf, isInCalendar } from '@sluice/core/internal/operator'
import { localTimeText } from '@sluice/core/internal/text'
import type { Usage } from '@sluice/usage/report'
import { countOf, textOf, type Command, type Values } from '../command.ts'
import { installed, refuse } from '../errors.ts'
import { option } from '../wording.ts'
import { heaviestFirst, sumsBy, sumsByTenant, sumsTable, type Sums } from '../usage-sums.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'

export const usage: Command = {
  summary: 'who used what: requests, tokens, dollars',
  usage: `Usage: sluice usage [--from TIME] [--to TIME] [--by PERIOD] [--zone ZONE] [options]

Sums up what recordUsage has recorded, by tenant, the largest first; with --zone or --anchor by period, too.

  --from TIME           such as 2026-11-01, or 24h ago: 24h (default: 24 hours before --to; with --by day, 31 days)
  --to TIME             (default: now)
  --by PERIOD           the rows to read: hour, day, week, month or year (default: hour; with --zone or --anchor, day)
  --zone ZONE           the time zone of periods and times, such as Europe/Berlin (default: UTC)
  --anchor DATE         a date whose day and hour return in each period: 2026-01-31T06 (default: midnight, the first)
  --tenants A,B         only these
  --top N               the most lines (default: 20)
  --csv                 print all rows as CSV, for billing
${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const { limiter } = await limiterFor(values, folder)
    const report = await installed('@sluice/usage', () => import('@sluice/usage/report'))
    const [zone, anchor] = [textOf(values, 'zone'), textOf(values, 'anchor')]
    const isLocal = zone !== undefined || anchor !== undefined
    const by = textOf(values, 'by') ?? (isLocal ? 'day' : undefined)
    const tenants = textOf(values, 'tenants')
    const [from, to] = [timeOf(values, 'from'), timeOf(values, 'to')]
    const top = countOf(values, 'top', 20)
    if (values['csv'] === true && values['json'] === true)
      refuse('--csv and --json are two forms of the result: name one')
    const used = await report.usage(limiter, {
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(by !== undefined && { by: by as 'day' }),
      ...(tenants !== undefined && { tenants: tenants.split(',') }),
      ...(zone !== undefined && { zone }),
      ...(anchor !== undefined && { anchor }),
    })
    if (values['csv'] === true) return { text: report.usageCsv(used.rows).trimEnd(), json: used }
    const texts = [sumsText(used, top), ...report.undividedTexts(used)]
    return { text: texts.join('\n\n'), json: used }
  },
}

/** Returns the time that an option names: a date, a time with a zone, or a duration before now. */
function timeOf(values: Values, name: string): Date | string | undefined {
  const text = textOf(values, name)
  if (text === undefined) return undefined
  const [, date] = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d.*(Z|[+-]\d\d:\d\d))?$/.exec(text) ?? []
  const ms = durationOf(text)
  if (ms !== undefined) return new Date(Date.now() - ms)
  // A date is one of the zone.
  if (date !== undefined && isInCalendar(date)) return date === text ? date : new Date(text)
  return refuse(
    `${option(name)} ${text} must be a date, such as 2026-11-01, a time with a zone, or a duration before now, such as 24h`,
  )
}

/** Returns a local time without its zone, which is said beside it: `2026-11-01 00:00`. */
const withoutZone = (startsAt: string): string => localTimeText(startsAt).replace(/ \(.*/, '')

function sumsText({ from, to, by, rows, calendar }: Usage, top: number): string {
  const sorted = heaviestFirst(sumsByTenant(rows))
  const range = calendar
    ? `${withoutZone(calendar.startsAt)} to ${localTimeText(calendar.endsAt)}`
    : [from, to].map((time) => `${new Date(time).toISOString().slice(0, 16)}Z`).join(' to ')
  if (sorted.length === 0) return `Nothing is recorded from ${range}.`
  const lines = [`From ${range}`, ...sumsTable(sorted, top)]
  if (!calendar) return lines.join('\n')
  const ofPeriods = sumsBy(rows, ({ startsAt = '' }) => startsAt)
  const named = Array.from(
    ofPeriods,
    ([startsAt, sums]) => [withoutZone(startsAt), sums] as [string, Sums],
  )
  // In the order of their starts, which no number of lines cuts.
  return [...lines, '', ...sumsTable(named, named.length, undefined, `${by} from`)].join('\n')
}
