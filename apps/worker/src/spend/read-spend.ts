import type { Limiter } from '@sluice/core'
import type { UsageRow } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { DAY_MS, type Name, type Scope, type SpendQuery } from './query.ts'

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

/**
 * Reads rows, and sums them up by each of several lists of names. It reads one day after another, so that a month of
 * them need not fit into the memory of an isolate.
 *
 * @param scope Another organisation's rows are as if absent.
 * @throws StoreError When the store fails.
 */
export async function readSpend(
  limiter: Limiter,
  { from, to, tenant }: SpendQuery,
  lists: readonly (readonly Name[])[],
  scope: Scope,
): Promise<UsageRow[][]> {
  const sums = lists.map(() => new Map<string, UsageRow>())
  if (tenant !== undefined && scope.tenant !== undefined && tenant !== scope.tenant)
    return sums.map(() => [])
  const only = tenant ?? scope.tenant
  const by = lists.some((names) => names.includes('hour')) ? 'hour' : 'day'
  for (let start = from; start < to; start += DAY_MS) {
    const { rows } = await usage(limiter, {
      by,
      from: start,
      to: start + DAY_MS,
      ...(only !== undefined && { tenants: [only] }),
    })
    for (const [at, names] of lists.entries()) addRows(sums[at] ?? new Map(), rows, names, from)
  }
  return sums.map((found) => Array.from(found.values()))
}

/** Adds rows to those with the same names. A name that was not asked for is empty. */
function addRows(
  sums: Map<string, UsageRow>,
  rows: readonly UsageRow[],
  names: readonly Name[],
  from: number,
): void {
  const asked = new Set<string>(names)
  const kept = (name: string, value: string): string => (asked.has(name) ? value : '')
  for (const row of rows) {
    const { dimensions = {} } = row
    const start = asked.has('hour')
      ? row.start
      : asked.has('day')
        ? row.start - (row.start % DAY_MS)
        : from
    const others = Object.entries(dimensions).map(([name, value]) => [name, kept(name, value)])
    const group = {
      start,
      tenant: kept('tenant', row.tenant),
      route: '',
      model: kept('model', row.model),
      plan: kept('plan', row.plan),
      dimensions: Object.fromEntries(others) as Record<string, string>,
      outcome: row.outcome,
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

/** Returns the name of a row: of a time, as ISO 8601. */
function nameIn(row: UsageRow, name: Name): string {
  const time = new Date(row.start).toISOString()
  if (name === 'day') return time.slice(0, 10)
  if (name === 'hour') return `${time.slice(0, 13)}:00Z`
  if (name === 'tenant' || name === 'model' || name === 'plan') return row[name]
  return row.dimensions?.[name] ?? ''
}
