import type { Usage } from '@sluice/usage/report'
import { unitsText } from '@sluice/core/internal/text'
import type { Command } from '../command.ts'
import { textOf } from '../command.ts'
import { CommandError } from '../errors.ts'
import { table } from '../format.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'

export const usage: Command = {
  summary: 'who used what: requests, tokens, dollars',
  usage: `Usage: sluice usage [--from TIME] [--to TIME] [--by hour|day] [options]

Sums up what recordUsage has recorded, by tenant, the largest first.

  --from TIME           such as 2026-11-01 (default: 24 hours before --to; with --by day, 31 days)
  --to TIME             (default: now)
  --by hour|day         the rows to read (default: hour)
  --tenants A,B         only these
  --top N               the most lines (default: 20)
  --csv                 print all rows as CSV, for billing
${LIMITER_USAGE}`,
  options: {
    ...LIMITER_OPTIONS,
    from: { type: 'string' },
    to: { type: 'string' },
    by: { type: 'string' },
    tenants: { type: 'string' },
    top: { type: 'string' },
    csv: { type: 'boolean' },
  },

  async run(values, _, { folder }) {
    const { limiter } = await limiterFor(values, folder)
    const report = await loadReport()
    const [from, to, by, tenants] = ['from', 'to', 'by', 'tenants'].map((name) =>
      textOf(values, name),
    )
    const used = await report.usage(limiter, {
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(by !== undefined && { by: by as 'day' }),
      ...(tenants !== undefined && { tenants: tenants.split(',') }),
    })
    if (values['csv'] === true) return { text: report.usageCsv(used.rows).trimEnd(), json: used }
    const top = textOf(values, 'top') ?? '20'
    if (!/^\d+$/.test(top)) throw new CommandError(`--top ${top} must be a whole number`)
    return { text: sumsText(used, Number(top)), json: used }
  },
}

async function loadReport() {
  try {
    return await import('@sluice/usage/report')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CommandError(
      'needs @sluice/usage: npm install @sluice/usage, and recordUsage() in extensions',
    )
  }
}

interface Sums {
  requests: number
  denied: number
  tokens: number
  usd: number
}

function sumsText({ from, to, rows }: Usage, top: number): string {
  const all = new Map<string, Sums>()
  for (const { tenant, outcome, requests, tokens, usd } of rows) {
    const sums = all.get(tenant) ?? { requests: 0, denied: 0, tokens: 0, usd: 0 }
    all.set(tenant, sums)
    if (outcome !== 'allowed') {
      sums.denied += requests
      continue
    }
    sums.requests += requests
    sums.tokens += tokens
    sums.usd += usd
  }
  const sorted = [...all].toSorted(
    ([, a], [, b]) =>
      b.usd - a.usd || b.tokens - a.tokens || b.requests + b.denied - a.requests - a.denied,
  )
  const range = [from, to]
    .map((time) => `${new Date(time).toISOString().slice(0, 16)}Z`)
    .join(' to ')
  if (sorted.length === 0) return `Nothing is recorded from ${range}.`
  const lines = sorted
    .slice(0, top)
    .map(([tenant, { requests, denied, tokens, usd }]) => [
      tenant || '(none)',
      String(requests),
      String(denied),
      String(tokens),
      unitsText(usd, 'usd'),
    ])
  const more =
    sorted.length > top ? [`and ${sorted.length - top} more: --top ${sorted.length}`] : []
  return [
    `From ${range}`,
    table(['tenant', 'allowed', 'denied', 'tokens', 'dollars'], lines),
    ...more,
  ].join('\n')
}
