import { durationOf, isInCalendar } from '@sluice/core/internal/operator'
import type { Usage } from '@sluice/usage/report'
import { countOf, textOf, type Command, type Values } from '../command.ts'
import { installed, refuse } from '../errors.ts'
import { option } from '../wording.ts'
import { heaviestFirst, sumsByTenant, sumsTable } from '../usage-sums.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'

export const usage: Command = {
  summary: 'who used what: requests, tokens, dollars',
  usage: `Usage: sluice usage [--from TIME] [--to TIME] [--by hour|day] [options]

Sums up what recordUsage has recorded, by tenant, the largest first.

  --from TIME           such as 2026-11-01, or 24h ago: 24h (default: 24 hours before --to; with --by day, 31 days)
  --to TIME             (default: now)
  --by hour|day         the rows to read (default: hour)
  --tenants A,B         only these
  --top N               the most lines (default: 20)
  --csv                 print all rows as CSV, for billing
${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const { limiter } = await limiterFor(values, folder)
    const report = await installed('@sluice/usage', () => import('@sluice/usage/report'))
    const [by, tenants] = [textOf(values, 'by'), textOf(values, 'tenants')]
    const [from, to] = [timeOf(values, 'from'), timeOf(values, 'to')]
    const top = countOf(values, 'top', 20)
    if (values['csv'] === true && values['json'] === true)
      refuse('--csv and --json are two forms of the result: name one')
    const used = await report.usage(limiter, {
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(by !== undefined && { by: by as 'day' }),
      ...(tenants !== undefined && { tenants: tenants.split(',') }),
    })
    if (values['csv'] === true) return { text: report.usageCsv(used.rows).trimEnd(), json: used }
    return { text: sumsText(used, top), json: used }
  },
}

/** Returns the time that an option names: a date, a time with a zone, or a duration before now. */
function timeOf(values: Values, name: string): Date | undefined {
  const text = textOf(values, name)
  if (text === undefined) return undefined
  const [, date] = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d.*(Z|[+-]\d\d:\d\d))?$/.exec(text) ?? []
  const ms = durationOf(text)
  const time = ms === undefined ? new Date(text) : new Date(Date.now() - ms)
  if (ms !== undefined || (date !== undefined && isInCalendar(date))) return time
  return refuse(
    `${option(name)} ${text} must be a date, such as 2026-11-01, a time with a zone, or a duration before now, such as 24h`,
  )
}

function sumsText({ from, to, rows }: Usage, top: number): string {
  const sorted = heaviestFirst(sumsByTenant(rows))
  const range = [from, to]
    .map((time) => `${new Date(time).toISOString().slice(0, 16)}Z`)
    .join(' to ')
  if (sorted.length === 0) return `Nothing is recorded from ${range}.`
  return [`From ${range}`, ...sumsTable(sorted, top)].join('\n')
}
