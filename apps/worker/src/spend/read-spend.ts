import type { Limiter } from '@sluice/core'
import { localText } from '@sluice/core/internal/calendars'
import type { UsageRow } from '@sluice/usage'
import { undividedTexts, usage, type Usage } from '@sluice/usage/report'
import type { Name, Scope, SpendQuery } from './query.ts'

/** Sums of usage. Dollars and tokens are those that were used: estimates of denied requests are no part of them. */
export interface Spend {
  readonly requests: number
  readonly denied: number
  readonly unavailable: number
  readonly tokens: number
  /** Micro-dollars. */
  readonly usd: number
}

/** The sums of those who share the names that were asked for. */
export interface SpendGroup extends Spend {
  readonly names: Readonly<Partial<Record<Name, string>>>
}

/** Rows of sums, for each list of names; and sentences about what is not exact. */
export interface SpendRows {
  readonly lists: readonly (readonly UsageRow[])[]
  readonly notes: readonly string[]
}

/** The days of a zone that are read together: each shares a day (UTC) with the next. */
const DAYS_TOGETHER = 7

const HOUR_MS = 3_600_000

/**
 * Reads rows, and sums them up by each of several lists of names. It reads one day after another, so that a month of
 * them need not fit into the memory of an isolate; in a zone a week.
 *
 * @param scope Another organisation's rows are as if absent.
 * @throws StoreError When the store fails.
 */
export async function readSpend(
  limiter: Limiter,
  { days, zone, tenant }: SpendQuery,
  lists: readonly (readonly Name[])[],
  scope: Scope,
): Promise<SpendRows> {
  const sums = lists.map(() => new Map<string, UsageRow>())
  if (tenant !== undefined && scope.tenant !== undefined && tenant !== scope.tenant)
    return { lists: sums.map(() => []), notes: [] }
  const only = tenant ?? scope.tenant
  const by = lists.some((names) => names.includes('hour')) ? 'hour' : 'day'
  // An hour of a zone of half-hours counts to the day in which it begins.
  const starts = by === 'hour' ? days.map((day) => Math.ceil(day / HOUR_MS) * HOUR_MS) : days
  const step = zone === undefined ? 1 : DAYS_TOGETHER
  const undivided = new Map<string, Undivided>()
  let latest: Usage | undefined
  for (let at = 0; at < days.length - 1; at += step) {
    latest = await usage(limiter, {
      by,
      from: starts[at] ?? 0,
      to: starts[Math.min(at + step, starts.length - 1)] ?? 0,
      ...(only !== undefined && { tenants: [only] }),
      ...(zone !== undefined && { zone }),
    })
    for (const one of latest.calendar?.undivided ?? []) undivided.set(`${one.by} ${one.start}`, one)
    const { rows } = latest
    for (const [index, names] of lists.entries())
      addRows(sums[index] ?? new Map(), rows, names, { starts, zone })
  }
  const calendar = latest?.calendar && { ...latest.calendar, undivided: [...undivided.values()] }
  return {
    lists: sums.map((found) => Array.from(found.values())),
    notes: calendar ? undividedTexts({ by, calendar }) : [],
  }
}

type Undivided = NonNullable<Usage['calendar']>['undivided'][number]

/** Adds rows to those with the same names. A name that was not asked for is empty. */
function addRows(
  sums: Map<string, UsageRow>,
  rows: readonly UsageRow[],
  names: readonly Name[],
  { starts, zone }: { readonly starts: readonly number[]; readonly zone: string | undefined },
): void {
  const asked = new Set<string>(names)
  const kept = (name: string, value: string): string => (asked.has(name) ? value : '')
  for (const row of rows) {
    const { dimensions = {} } = row
    const start = asked.has('hour')
      ? row.start
      : asked.has('day')
        ? (starts.findLast((day) => day <= row.start) ?? 0)
        : (starts[0] ?? 0)
    const others = Object.entries(dimensions).map(([name, value]) => [name, kept(name, value)])
    const group = {
      start,
      tenant: kept('tenant', row.tenant),
      route: '',
      model: kept('model', row.model),
      plan: kept('plan', row.plan),
      dimensions: Object.fromEntries(others) as Record<string, string>,
      outcome: row.outcome,
      ...(zone !== undefined && { startsAt: localText(zone, start) }),
    }
    const key = JSON.stringify(group)
    const { requests = 0, tokens = 0, usd = 0 } = sums.get(key) ?? {}
    sums.set(key, {
      ...group,
      requests: requests + row.requests,
      tokens: tokens + row.tokens,
      usd: usd + row.usd,
    })
  }
}

/** Returns one group for each list of names, the most dollars first. */
export function groupsOf(rows: readonly UsageRow[], names: readonly Name[]): SpendGroup[] {
  const groups = new Map<string, SpendGroup>()
  for (const row of rows) {
    const own = Object.fromEntries(
      names.map((name) => [name, nameIn(row, name)]),
    ) as SpendGroup['names']
    const key = JSON.stringify(own)
    const group = groups.get(key) ?? { names: own, ...NOTHING }
    groups.set(key, { names: own, ...plus(group, row) })
  }
  return [...groups.values()].toSorted(
    (a, b) => b.usd - a.usd || b.tokens - a.tokens || b.requests - a.requests,
  )
}

/** Returns the sum of all rows. */
export const totalOf = (rows: readonly UsageRow[]): Spend => rows.reduce<Spend>(plus, NOTHING)

const NOTHING: Spend = { requests: 0, denied: 0, unavailable: 0, tokens: 0, usd: 0 }

function plus({ requests, denied, unavailable, tokens, usd }: Spend, row: UsageRow): Spend {
  const isAllowed = row.outcome === 'allowed'
  const of = (outcome: UsageRow['outcome']): number => (row.outcome === outcome ? row.requests : 0)
  return {
    requests: requests + of('allowed'),
    denied: denied + of('denied'),
    unavailable: unavailable + of('unavailable'),
    tokens: tokens + (isAllowed ? row.tokens : 0),
    usd: usd + (isAllowed ? row.usd : 0),
  }
}

/** Returns the name of a row: of a time, as ISO 8601, in its zone. */
function nameIn(row: UsageRow, name: Name): string {
  const time = row.startsAt ?? new Date(row.start).toISOString()
  if (name === 'day') return time.slice(0, 10)
  if (name === 'hour') return `${time.slice(0, 16)}${row.startsAt ? time.slice(19, 25) : 'Z'}`
  if (name === 'tenant' || name === 'model' || name === 'plan') return row[name]
  return row.dimensions?.[name] ?? ''
}
