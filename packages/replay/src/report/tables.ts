import { subjectText, unitsText } from '@sluice/core/internal/text'
import type { Suggestion } from '../limits/suggest-limits.ts'
import type { CreditsReport, Replay, SetReport, TenantReport } from '../simulation/report-types.ts'
import type { Table } from './text-table.ts'
import { count, dollars, limitText, percent, time } from './format.ts'

/** The tenants that a report lists. */
export const TOP = 10

/** The totals of each set, side by side. */
export function totalsTable({ log, sets }: Replay): Table {
  const row = (name: string, cell: (set: SetReport) => string): string[] => [
    name,
    ...sets.map(cell),
  ]
  return {
    head: ['', ...sets.map(({ name }) => name)],
    rows: [
      row('calls allowed', ({ used, denied }) => count(used.calls - denied.calls)),
      row('calls denied', ({ denied }) => count(denied.calls)),
      row('share denied', ({ used, denied }) => percent(denied.calls, used.calls)),
      row('tenants denied', ({ tenants }) => count(tenants.length)),
      row('normal tenants denied', ({ normal }) => `${normal.hurt.length} of ${normal.tenants}`),
      row('tokens saved', ({ denied }) => count(denied.tokens)),
      row('dollars saved', ({ denied }) => (log.used.usd > 0 ? dollars(denied.usd) : 'no prices')),
      ...(sets.some(({ delayed }) => delayed > 0)
        ? [row('calls delayed', ({ delayed }) => count(delayed))]
        : []),
    ],
  }
}

/** The denials of each policy of a set. */
export const policiesTable = ({ policies }: SetReport): Table => ({
  head: ['policy', 'unit', 'denied', 'tenants', 'first (UTC)', 'last (UTC)'],
  rows: policies.map(({ name, unit, denied, tenants, firstDeniedAt, lastDeniedAt }) => [
    name,
    unit,
    count(denied),
    count(tenants),
    time(firstDeniedAt),
    time(lastDeniedAt),
  ]),
})

/** The tenants with the most denials. */
export const tenantsTable = (tenants: readonly TenantReport[]): Table => ({
  head: [
    'tenant',
    'calls',
    'denied',
    'share',
    'tokens saved',
    'dollars saved',
    'by',
    'first (UTC)',
  ],
  rows: tenants
    .slice(0, TOP)
    .map(({ tenant, used, denied, policies, firstDeniedAt }) => [
      tenant,
      count(used.calls),
      count(denied.calls),
      percent(denied.calls, used.calls),
      count(denied.tokens),
      dollars(denied.usd),
      mostFrequent(policies),
      time(firstDeniedAt),
    ]),
})

/** The balances of a policy of credits that have refused the most calls, or have the least left. */
export const balancesTable = ({ unit, balances }: CreditsReport): Table => ({
  head: ['balance of', 'at the start', 'charged', 'left', 'calls refused', 'ran out (UTC)'],
  rows: balances
    .slice(0, TOP)
    .map(({ subject, opening, charged, left, refused, ranOutAt }) => [
      subjectText(subject),
      unitsText(opening, unit),
      unitsText(charged, unit),
      unitsText(left, unit),
      count(refused),
      time(ranOutAt),
    ]),
})

/** The smallest limits. */
export const suggestionTable = ({ limits }: Suggestion): Table => ({
  head: ['policy', 'for', 'unit', 'limit today', 'smallest', 'needed by', 'at (UTC)'],
  rows: limits.map(({ policy, plan, setting, unit, current, limit, isSmallest, heldBy }) => [
    policy,
    setting ? subjectText(setting.subject) : plan === undefined ? '-' : `plan ${plan}`,
    unit,
    limitText(current, unit),
    limit === undefined ? 'none' : `${limitText(limit, unit)}${isSmallest ? '' : ' suffices'}`,
    heldBy?.tenant ?? '-',
    time(heldBy?.at),
  ]),
})

/** The calls by the decisions of two sets. */
export function comparisonTable({ comparison, sets }: Replay): Table | undefined {
  if (!comparison) return undefined
  const [first, second] = sets.map(({ name }) => name)
  return {
    head: ['decision', 'calls'],
    rows: [
      ['both allow', count(comparison.bothAllow)],
      ['both deny', count(comparison.bothDeny)],
      [`only ${first} denies`, count(comparison.onlyFirstDenies)],
      [`only ${second} denies`, count(comparison.onlySecondDenies)],
    ],
  }
}

const mostFrequent = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts).toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? ''
