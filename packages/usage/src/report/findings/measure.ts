import type { UsageRow } from '../../rows.ts'

/** What use is measured in. */
export type Measure = 'usd' | 'tokens' | 'requests'

/** Returns what to measure use in: dollars if any are counted, or else tokens, or else requests. */
export const measureOf = (rows: readonly UsageRow[]): Measure | undefined =>
  (['usd', 'tokens', 'requests'] as const).find((name) => rows.some((row) => row[name] > 0))

/** Returns the unit of a measure, as `amount` takes it. */
export const unitOf = (measure: Measure): string =>
  measure === 'usd' ? measure : measure.slice(0, -1)
