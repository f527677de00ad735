import type { Usage, UsageRow } from '../../rows.ts'

/** The amount by which tenants are compared. */
export type Measure = 'usd' | 'tokens' | 'requests'

/** The allowed requests of rows, and how they are compared: by dollars if any are known, else tokens, else requests. */
export function measured(rows: Usage['rows'] = []): {
  readonly allowed: readonly UsageRow[]
  readonly measure: Measure
} {
  const allowed = rows.filter(({ outcome }) => outcome === 'allowed')
  const known = (['usd', 'tokens'] as const).find((name) => allowed.some((row) => row[name] > 0))
  return { allowed, measure: known ?? 'requests' }
}

/** The unit of a measure, for `amount`. */
export const unitOf = (measure: Measure): string =>
  measure === 'usd' ? measure : measure.slice(0, -1)

/** A measure in a sentence. */
export const measureName = (measure: Measure): string => (measure === 'usd' ? 'dollars' : measure)
