/* Recorded usage, summed up by tenant. */
import type { UsageRow } from '@sluice/usage/report'
import { unitsText } from '@sluice/core/internal/text'
import { moreText, table } from './format.ts'

export interface Sums {
  /** Allowed requests. */
  requests: number
  /** Requests that were denied, by a policy or because the store failed. */
  denied: number
  tokens: number
  /** Micro-dollars. */
  usd: number
}

type Row = Pick<UsageRow, 'tenant' | 'outcome' | 'requests' | 'tokens' | 'usd'>

export const sumsByTenant = (rows: readonly Row[]): Map<string, Sums> =>
  sumsBy(rows, ({ tenant }) => tenant)

/** Adds rows up by a name. Tokens and dollars are those of allowed requests. */
export function sumsBy<R extends Row>(
  rows: readonly R[],
  nameOf: (row: R) => string,
): Map<string, Sums> {
  const all = new Map<string, Sums>()
  for (const row of rows) {
    const { outcome, requests, tokens, usd } = row
    const name = nameOf(row)
    const sums = all.get(name) ?? { requests: 0, denied: 0, tokens: 0, usd: 0 }
    all.set(name, sums)
    if (outcome !== 'allowed') {
      sums.denied += requests
      continue
    }
    sums.requests += requests
    sums.tokens += tokens
    sums.usd += usd
  }
  return all
}

export const heaviestFirst = (all: ReadonlyMap<string, Sums>): [tenant: string, Sums][] =>
  [...all].toSorted(
    ([, a], [, b]) =>
      b.usd - a.usd || b.tokens - a.tokens || b.requests + b.denied - a.requests - a.denied,
  )

/** Returns the lines of a table of tenants, and the one that says how many it leaves out. */
export function sumsTable(
  sums: readonly [name: string, Sums][],
  top: number,
  shown = (count: number): number => count,
  title = 'tenant',
): string[] {
  const rows = sums
    .slice(0, top)
    .map(([tenant, { requests, denied, tokens, usd }]) => [
      tenant || '(none)',
      String(shown(requests)),
      String(shown(denied)),
      String(shown(tokens)),
      unitsText(shown(usd), 'usd'),
    ])
  const head = [title, 'allowed', 'denied', 'tokens', 'dollars']
  return [table(head, rows), ...moreText(sums.length, top)]
}

const keyOf = ({ start, tenant, route, model, plan, outcome }: UsageRow): string =>
  JSON.stringify([start, tenant, route, model, plan, outcome])

/** Returns the rows of what has been added between two reads. An hour that only the later one has is all new. */
export function rowsSince(before: readonly UsageRow[], after: readonly UsageRow[]): Row[] {
  const known = new Map(before.map((row) => [keyOf(row), row]))
  return after.map((row) => {
    const { requests = 0, tokens = 0, usd = 0 } = known.get(keyOf(row)) ?? {}
    return {
      tenant: row.tenant,
      outcome: row.outcome,
      requests: row.requests - requests,
      tokens: row.tokens - tokens,
      usd: row.usd - usd,
    }
  })
}
