import type { Usage, UsageRow } from '../../rows.ts'
import { groupBy } from './series.ts'
import { isOneTenant } from './words.ts'

/**
 * The kinds of findings. `abnormal-usage` is a scraper's: the RateLimit draft has the problem type
 * `abnormal-usage-detected` for it.
 */
export type FindingKind =
  | 'runaway'
  | 'retry-storm'
  | 'abnormal-usage'
  | 'round-the-clock'
  | 'outsized-share'
  | 'shifted-use'
  | 'steady-rise'
  | 'over-budget'
  | 'near-cap'
  | 'passed-over'

/** An observation about one tenant that somebody should look at. */
export interface Finding {
  readonly kind: FindingKind
  /** The tenant as its rows name it; `''` for all tenants together. */
  readonly tenant: string
  /** A sentence that contains the evidence. */
  readonly text: string
  /** The numbers of the sentence, by name. Times are in epoch ms, money in micro-dollars. */
  readonly evidence: Readonly<Record<string, number | string>>
}

/** The rows that findings are made from. */
export interface FindingsInput {
  /** Usage by hour, of a week or so. */
  readonly hours: Usage
  /** Usage by day since the start of the month, for budgets of a month. @default none */
  readonly days?: Usage
  /** The dimension that `recordUsage` was given as `by`. @default 'tenant' */
  readonly by?: string
}

/** A finding of one tenant, by one detector. */
export type Evidence = Pick<Finding, 'text' | 'evidence'>

/** Looks for one kind of finding. */
export type Detector = (input: Required<FindingsInput>) => readonly Omit<Finding, 'kind'>[]

/** Returns the findings about tenants of whom something can be said, by their rows. */
export const findByTenant = (
  rows: readonly UsageRow[],
  find: (tenant: string, rows: readonly UsageRow[]) => Evidence | undefined,
): Omit<Finding, 'kind'>[] =>
  [...groupBy(rows, ({ tenant }) => tenant)].flatMap(([tenant, own]) => {
    const found = isOneTenant(tenant) ? find(tenant, own) : undefined
    return found ? [{ tenant, ...found }] : []
  })
